"""TRL's real KTOTrainer, driven on given completions, each desirable or not."""

import tempfile
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from datasets import Dataset
from trl import KTOConfig, KTOTrainer

from ..objective_record import Driven, Mismatched
from ..probe import EOS
from .arguments import in_order
from .installed import Installed
from .moving import Moves, Moving
from .scored import CHANGES as COMMON
from .scored import (
    Snapshots,
    as_reference,
    drive,
    keep_as_reference,
    log_probabilities,
    padded,
    settings,
    tokenizer_of_words,
    words,
)

CHANGES = {**COMMON, "reference": "loaded by TRL from the path in the model's config, as given"}
Answer = tuple[Sequence[int], Sequence[int], bool]


def run_kto(
    model: Any,
    answers: Sequence[Answer],
    *,
    reference: Any,
    moves: Moves | None = None,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> tuple[Driven, list[list[Mismatched]]]:
    """Train for one epoch.

    Args:
        model: the policy.
        answers: prompt ids, completion ids, and whether it is desirable; no row twice. TRL puts the end of sequence
            behind each completion.
        reference: the reference model; with an adapter, a copy of the policy from before.
        moves: how the reference follows the policy, where sync_ref_model asks it to.
        peft: configuration of an adapter.
        micro_batch: completions per backward.
        arguments: further KTOConfig, over the ones in CHANGES.

    Returns:
        The run, its numbers those of the answers; and [window][micro-batch] the completions behind other prompts.

    Raises:
        ValueError: no reference, no answer, one without a token, an unknown id or loss, or what KTOConfig refuses.
    """
    script = {
        (*prompt, *completion, EOS): (i, [False] * (len(prompt) - 1) + [True] * (len(completion) + 1))
        for i, (prompt, completion, _) in enumerate(answers)
    }
    if not script or len(script) != len(answers) or not all(len(p) and len(c) for p, c, _ in answers):
        raise ValueError(f"answers need a prompt and a completion, no row twice, got {list(answers)!r}")
    snapshots = Snapshots()
    table = [{"prompt": words(p), "completion": f" {words(c)}", "label": bool(good)} for p, c, good in answers]
    with tempfile.TemporaryDirectory() as folder, Installed():
        keep_as_reference(model, reference, folder)
        trainer = KTOTrainer(
            model=model,
            **as_reference(KTOTrainer, reference, peft),
            args=settings(KTOConfig, folder, per_device_train_batch_size=micro_batch, **arguments),
            train_dataset=Dataset.from_list(table),
            processing_class=tokenizer_of_words(model.config.vocab_size),
            peft_config=peft,
        )
        in_order(trainer)
        moving = Moving(reference, snapshots, moves)
        driven = drive(trainer, script, snapshots, reference, moving)
    mixed = [
        [cycled(trainer.model, reference, answers, batch.numbers, parameters, moving.at(w)) for batch in window]
        for w, (window, parameters) in enumerate(zip(driven.windows, snapshots.windows))
    ]
    driven.record.changes.update(CHANGES)
    return driven, mixed


def cycled(
    model: Any,
    reference: Any,
    answers: Sequence[Answer],
    numbers: Any,
    parameters: Any,
    moved: Mapping[str, Any] = MappingProxyType({}),
) -> Mismatched:
    """The prompts of a micro-batch, each with the completion before its own; the first with the last one."""
    rows, marks = [], []
    for i, number in enumerate(numbers):
        prompt, completion = answers[number][0], answers[numbers[i - 1]][1]
        rows.append(np.array([*prompt, *completion, EOS]))
        marks.append([False] * (len(prompt) - 1) + [True] * (len(completion) + 1))
    policy, base = log_probabilities(model, rows, parameters), log_probabilities(reference, rows, dict(moved))
    largest = [np.maximum(*sizes) for sizes in zip(policy.largest, base.largest)]
    return Mismatched(padded(marks, np.bool_), padded(policy.log_p), padded(base.log_p), padded(largest))

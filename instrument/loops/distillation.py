"""TRL's real DistillationTrainer, driven on given completions of a student.

What it learns from is spread over the vocabulary, so a token has no weight of its own log-probability: the gradient at
the final hidden state is kept as it is, with the logits that the divergence should have compared.
"""

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import PrinterCallback
from trl import DistillationConfig, DistillationTrainer

from ..capture import Replay
from ..objective_record import Taught
from .groups import CHANGES as COMMON
from .scored import Ids, OldNames, Parameters, Snapshots, settings, tokenizer_of_words, words

SEAM = "_generate_single_turn"
CHANGES = {
    **{name: change for name, change in COMMON.items() if name not in ("reward_funcs", "reference")},
    SEAM: "replaced on the instance: hands over the given completions, nothing is generated",
}
Answer = tuple[Sequence[int], Sequence[int]]


def run_distillation(
    model: Any,
    teacher: Any,
    answers: Sequence[Answer],
    *,
    micro_batch: int,
    **arguments: Any,
) -> tuple[list[list[Taught]], dict[str, str]]:
    """Train for one epoch.

    Args:
        model, teacher: student and teacher, of one vocabulary.
        answers: prompt and completion ids; no prompt twice.
        micro_batch: completions per backward.
        arguments: further DistillationConfig, over the ones in CHANGES.

    Returns:
        [window][micro-batch], and the changes from the defaults.

    Raises:
        ValueError: an answer without a token, a prompt twice, or what DistillationConfig refuses.
        LookupError: the installed trainer has no such seam.
    """
    if not hasattr(DistillationTrainer, SEAM):
        raise LookupError(f"trl {version('trl')}: DistillationTrainer has no {SEAM}, to hand completions over")
    given = {tuple(prompt): list(completion) for prompt, completion in answers}
    if len(given) != len(answers) or not all(len(p) and len(c) for p, c in answers):
        raise ValueError(f"answers need a prompt and a completion, no prompt twice, got {list(answers)!r}")
    script: dict[Ids, tuple[int, int]] = {(*p, *c): (i, len(p)) for i, (p, c) in enumerate(answers)}
    snapshots = Snapshots()
    read: list[tuple[int, Any, torch.Tensor]] = []

    def take(base: Any, args: Any, inputs: dict[str, Any], output: Any) -> None:
        hidden = output.last_hidden_state
        if hidden.requires_grad and not Replay.running:
            hidden.register_hook(lambda gradient: read.append((len(snapshots.windows), inputs, gradient.double())))

    with tempfile.TemporaryDirectory() as folder, OldNames():
        trainer = DistillationTrainer(
            model=model,
            teacher_model=teacher,
            args=settings(
                DistillationConfig,
                folder,
                per_device_train_batch_size=micro_batch,
                shuffle_dataset=False,
                **arguments,
            ),
            train_dataset=Dataset.from_list([{"prompt": words(prompt)} for prompt, _ in answers]),
            processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
        )
        setattr(trainer, SEAM, lambda prompts, *_: [given[tuple(ids)] for ids in prompts])
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(snapshots)
        handle = model.base_model.register_forward_hook(take, with_kwargs=True)
        trainer.train()
        handle.remove()
    windows: list[list[Taught]] = [[] for _ in snapshots.windows]
    for number, inputs, gradient in read:
        windows[number].append(one_batch(model, teacher, inputs, gradient, script, snapshots.windows[number]))
    return windows, dict(CHANGES)


def one_batch(
    model: Any,
    teacher: Any,
    inputs: dict[str, Any],
    gradient: torch.Tensor,
    script: dict[Ids, tuple[int, int]],
    parameters: Parameters,
) -> Taught:
    """One micro-batch."""
    seen = inputs["attention_mask"].bool()
    rows = [tuple(ids[mask].tolist()) for ids, mask in zip(inputs["input_ids"], seen)]
    unknown = [row for row in rows if row not in script]
    if unknown:
        raise RuntimeError(f"the trainer ran the row {unknown[0]}, which is none of the {len(script)} given ones")
    pull, logits = [], []
    for row, mask, gradient_th in zip(rows, seen, gradient):
        ids = torch.tensor([row])
        with Replay(), torch.no_grad():
            own = torch.func.functional_call(model, parameters, (), {"input_ids": ids, "use_cache": False}).logits
            other = teacher(input_ids=ids, use_cache=False).logits
        logits.append([of_model[0, :-1].double().numpy() for of_model in (own, other)])
        pull.append(-gradient_th[mask][:-1].numpy())
    head = parameters.get("lm_head.weight", model.lm_head.weight).detach().double().numpy()
    return Taught(
        np.array([script[row][0] for row in rows]),
        [np.arange(len(row) - 1) >= script[row][1] - 1 for row in rows],
        pull,
        [own for own, _ in logits],
        [other for _, other in logits],
        head,
    )

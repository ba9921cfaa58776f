"""TRL's real DPOTrainer, driven on given pairs."""

import os
import tempfile
from collections.abc import Sequence
from enum import Enum
from importlib.metadata import version
from typing import Any

from datasets import Dataset
from trl import DPOConfig, DPOTrainer

from ..objective_record import Driven
from ..probe import EOS
from .arguments import in_order
from .installed import Installed
from .moving import Moves, Moving
from .scored import CHANGES as COMMON
from .scored import Snapshots, as_reference, drive, keep_as_reference, settings, tokenizer_of_words, words

CHANGES = {**COMMON, "reference": "loaded by TRL from the path in the model's config, as given"}
Pair = tuple[Sequence[int], Sequence[int], Sequence[int]]


def run_dpo(
    model: Any,
    pairs: Sequence[Pair],
    *,
    reference: Any,
    moves: Moves | None = None,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> Driven:
    """Train for one epoch.

    Args:
        model: the policy.
        pairs: prompt, chosen and rejected ids; no row twice. TRL puts the end of sequence behind each completion.
        reference: the reference model; with an adapter, a copy of the policy from before.
        moves: how the reference follows the policy, where sync_ref_model asks it to.
        peft: configuration of an adapter.
        micro_batch: pairs per backward.
        arguments: further DPOConfig, over the ones in CHANGES.

    Returns:
        The run; number 2 p is the chosen row of pair p, 2 p + 1 the rejected.

    Raises:
        ValueError: no reference, no pair, a pair without a token, an unknown id or loss, or what DPOConfig refuses.
    """
    return run_like_dpo(DPOTrainer, model, pairs, reference, moves, peft, micro_batch, arguments)


def run_dpo_averaged(
    model: Any,
    pairs: Sequence[Pair],
    *,
    reference: Any,
    moves: Moves | None,
    average: dict[str, Any],
    micro_batch: int,
    **arguments: Any,
) -> Driven:
    """As ``run_dpo``, with the DPOTrainer of trl.experimental.bema_for_ref_model, whose callback moves the reference.

    Args:
        average: arguments of its BEMACallback, beside update_ref_model.

    Raises:
        LookupError: what is installed has no such trainer.
    """
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    try:
        from trl.experimental.bema_for_ref_model import BEMACallback, DPOTrainer
    except ImportError as missing:
        raise LookupError(f"trl {version('trl')}: no DPOTrainer that moves its reference ({missing})") from missing
    callbacks = [BEMACallback(update_ref_model=True, **average)]
    return run_like_dpo(DPOTrainer, model, pairs, reference, moves, None, micro_batch, arguments, callbacks=callbacks)


def run_like_dpo(
    kind: Any,
    model: Any,
    pairs: Sequence[Pair],
    reference: Any,
    moves: Moves | None,
    peft: Any,
    micro_batch: int,
    arguments: dict[str, Any],
    **given: Any,
) -> Driven:
    """As ``run_dpo``, with a trainer that inherits from DPOTrainer; given: what it is built with beside these."""
    script = {}
    for p, (prompt, *sides) in enumerate(pairs):
        for side, completion in enumerate(sides):
            marks = [False] * (len(prompt) - 1) + [True] * (len(completion) + 1)
            script[(*prompt, *completion, EOS)] = (2 * p + side, marks)
    if not script or len(script) != 2 * len(pairs) or not all(len(part) for pair in pairs for part in pair):
        raise ValueError(f"pairs need a prompt and two completions, no row twice, got {list(pairs)!r}")
    table = [{"prompt": words(p), "chosen": f" {words(c)}", "rejected": f" {words(r)}"} for p, c, r in pairs]
    with tempfile.TemporaryDirectory() as folder, Installed():
        keep_as_reference(model, reference, folder)
        trainer = kind(
            model=model,
            **as_reference(kind, reference, peft),
            args=settings(DPOConfig, folder, per_device_train_batch_size=micro_batch, **as_one(DPOConfig, arguments)),
            train_dataset=Dataset.from_list(table),
            processing_class=tokenizer_of_words(model.config.vocab_size),
            peft_config=peft,
            **given,
        )
        in_order(trainer)
        snapshots = Snapshots()
        driven = drive(trainer, script, snapshots, reference, Moving(reference, snapshots, moves))
    driven.record.changes.update(CHANGES)
    return driven


def as_one(config: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as a release of TRL takes them: those before 0.21 know one loss, by its name, and no list.

    Raises:
        LookupError: a list of losses, or a divergence, that the release does not know.
    """
    divergence, kind = arguments.get("f_divergence_type"), type(config.f_divergence_type)
    if divergence is not None and issubclass(kind, Enum) and divergence not in [member.value for member in kind]:
        raise LookupError(f"trl {version('trl')}: DPOConfig knows no f_divergence_type={divergence!r}")
    losses = arguments.get("loss_type")
    if losses is None or not isinstance(getattr(config, "loss_type", None), str):
        return arguments
    if len(losses) > 1:
        raise LookupError(f"trl {version('trl')}: DPOConfig takes one loss_type, asked for {losses!r}")
    return {**arguments, "loss_type": losses[0]}

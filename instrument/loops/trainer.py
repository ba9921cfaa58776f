"""The real transformers Trainer, driven on given rows for one or more optimizer steps."""

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import PrinterCallback, Trainer, TrainingArguments

from .arguments import CHANGES as COMMON
from .arguments import in_order, logged, of_trainer
from .data import Rows, padding_collator

CHANGES = {**COMMON, "data_collator": "pads the given rows and labels; left of it, a first token loses its label"}


def run_trainer(
    model: Any,
    rows: Sequence[Sequence[int]],
    labels: Sequence[Sequence[int]] | None = None,
    *,
    micro_batch: int,
    accumulation: int = 1,
    padding_side: str = "right",
    pad_to: int = 0,
    collator: Callable[[list[dict[str, Any]]], dict[str, torch.Tensor]] | None = None,
    compute_loss_func: Callable[..., torch.Tensor] | None = None,
    **arguments: Any,
) -> list[float]:
    """Train for one epoch and give back what was logged.

    Args:
        model: the model to train.
        rows: [b] token ids.
        labels: [b] labels, -100 where a token is not scored; the ids when left out.
        micro_batch: rows per device and backward.
        accumulation: micro-batches per optimizer step.
        padding_side, pad_to: how the collator pads.
        collator: another collator; it is handed dicts of input_ids and labels.
        compute_loss_func: handed to the Trainer.
        arguments: further TrainingArguments, over the ones in CHANGES.

    Returns:
        The loss that the Trainer logged at each optimizer step.
    """
    settings = {
        "per_device_train_batch_size": micro_batch,
        "gradient_accumulation_steps": accumulation,
        "remove_unused_columns": False,
        **arguments,
    }
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model,
            args=of_trainer(TrainingArguments, folder, **settings),
            train_dataset=Rows(rows, labels),
            data_collator=padding_collator(padding_side, pad_to) if collator is None else collator,
            # Releases before 4.46 do not know it.
            **({} if compute_loss_func is None else {"compute_loss_func": compute_loss_func}),
        )
        if arguments.get("train_sampling_strategy") != "random":
            in_order(trainer)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return logged(trainer)

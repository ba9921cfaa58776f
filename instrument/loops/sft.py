"""TRL's real SFTTrainer, driven on given rows."""

import inspect
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback
from trl import SFTConfig, SFTTrainer

from ..objective_record import Driven
from . import scored
from .arguments import TRL_CHANGES, in_order, logged, of_trl
from .data import tokenizer_of_ids
from .installed import Installed

CHANGES = {**TRL_CHANGES, "shuffle_dataset": "False"}


def run_sft(model: Any, rows: Sequence[Sequence[int]], *, micro_batch: int, **arguments: Any) -> list[float]:
    """Train for one epoch and give back what was logged.

    Args:
        model: the model to train.
        rows: [b] token ids, already tokenized.
        micro_batch: rows (packs, with packing) per device and backward.
        arguments: further SFTConfig, over the ones in CHANGES: packing, packing_strategy, padding_free, max_length ...

    Returns:
        The loss that the trainer logged at each optimizer step.
    """
    settings = {"per_device_train_batch_size": micro_batch, "shuffle_dataset": False, **arguments}
    with tempfile.TemporaryDirectory() as folder:
        trainer = SFTTrainer(
            model=model,
            args=of_trl(SFTConfig, folder, **settings),
            train_dataset=Dataset.from_list([{"input_ids": list(row)} for row in rows]),
            processing_class=tokenizer_of_ids(model.config.vocab_size),
        )
        in_order(trainer)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return logged(trainer)


def run_supervised(
    model: Any,
    rows: Sequence[Sequence[int]],
    masks: dict[str, Sequence[Sequence[int]]] | None = None,
    *,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> Driven:
    """Train for one epoch, and gather what the closed forms need.

    Args:
        model: the model to train.
        rows: [b] token ids, no row twice.
        masks: columns of the data set, "completion_mask" or "assistant_masks", of 0 and 1 for each token; a token is
            scored where all of them are 1. Everything but the first token of a row is scored when left out.
        peft: configuration of an adapter.
        micro_batch: rows per backward.
        arguments: further SFTConfig, over the ones in ``scored.CHANGES``.

    Raises:
        ValueError: no row, a row twice, an unknown id or loss, or a mask that does not fit the rows.
        LookupError: the installed release does not know one of the masks or arguments.
    """
    masks = {} if masks is None else masks
    lengths = [len(row) for row in rows]
    for name, marks in masks.items():
        if [len(mark) for mark in marks] != lengths:
            raise ValueError(f"{name} has rows of {[len(m) for m in marks]} for rows of {lengths}: mark each token")
    marks_b = [[all(mask[b][t] for mask in masks.values()) for t in range(n)] for b, n in enumerate(lengths)]
    script = {tuple(row): (b, marks[1:]) for b, (row, marks) in enumerate(zip(rows, marks_b))}
    if not rows or len(script) != len(rows):
        raise ValueError(f"{len(rows)} rows, of which {len(script)} differ: give at least one, and no row twice")
    if "assistant_masks" in masks and "assistant_only_loss" not in SFTConfig.__dataclass_fields__:
        raise LookupError(f"trl {version('trl')}: SFTTrainer looks at no assistant_masks")
    table = [{"input_ids": list(row), **{k: list(m[b]) for k, m in masks.items()}} for b, row in enumerate(rows)]
    if '["input_ids", "attention_mask"]' in inspect.getsource(SFTTrainer):
        # These releases cut both columns of rows that come tokenized.
        table = [{**row, "attention_mask": [1] * len(row["input_ids"])} for row in table]
    if "completion_mask" in masks:
        arguments = {"completion_only_loss": True, **arguments}
    with tempfile.TemporaryDirectory() as folder, Installed():
        trainer = SFTTrainer(
            model=model,
            args=scored.settings(
                SFTConfig, folder, per_device_train_batch_size=micro_batch, shuffle_dataset=False, **arguments
            ),
            train_dataset=Dataset.from_list(table),
            processing_class=tokenizer_of_ids(model.config.vocab_size),
            peft_config=peft,
        )
        in_order(trainer)
        driven = scored.drive(trainer, script, scored.Snapshots(), None)
    driven.record.changes.update(scored.CHANGES, shuffle_dataset="False")
    return driven

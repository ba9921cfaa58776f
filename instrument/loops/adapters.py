"""A PEFT adapter trained by the real Trainer for one window, everything after backward watched."""

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import peft
from transformers import PrinterCallback, Trainer, TrainingArguments

from ..api import watch
from ..report.report import Report
from .arguments import CHANGES as COMMON
from .arguments import in_order, of_trainer
from .data import Rows, padding_collator
from .installed import OldNames

CHANGES = {
    **COMMON,
    "gradient_accumulation_steps": "1: no release of transformers averages one micro-batch wrongly",
    "labels": "-100 at the first token of a row, which some releases count and none scores",
}


def adapted(model: Any, **options: Any) -> Any:
    """The model with a LoRA adapter; options of LoraConfig.

    Raises:
        LookupError: the installed release does not know one of them.
    """
    unknown = sorted(options.keys() - peft.LoraConfig.__dataclass_fields__.keys())
    if unknown:
        raise LookupError(f"peft {version('peft')}: LoraConfig knows no {', '.join(unknown)}")
    with OldNames():
        return peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **options))


def run_adapter(model: Any, rows: Sequence[Sequence[int]], *, checkpointing: bool = False, **arguments: Any) -> Report:
    """Train for one epoch of one micro-batch.

    Args:
        model: with its adapter.
        rows: [b] token ids.
        checkpointing: reentrant, of a model whose embeddings ask for no gradient.
        arguments: further TrainingArguments, over the ones in CHANGES.

    Returns:
        What was measured.
    """
    labels = [[-100, *row[1:]] for row in rows]
    given = {"per_device_train_batch_size": len(rows), "remove_unused_columns": False, "optim": "adamw_torch"}
    with tempfile.TemporaryDirectory() as folder, OldNames():
        if checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
        trainer = Trainer(
            model=model,
            args=of_trainer(TrainingArguments, folder, **{**given, **arguments}),
            train_dataset=Rows(rows, labels),
            data_collator=padding_collator("right", 0),
        )
        in_order(trainer)
        trainer.remove_callback(PrinterCallback)
        trainer.create_optimizer()
        with watch(model, trainer.optimizer) as report:
            trainer.train()
    report.record.changes.update(CHANGES)
    return report

"""What a rank does for a question of a public report: train, or evaluate, with the real Trainer as it comes."""

import tempfile
from collections.abc import Sequence

from transformers import PrinterCallback, Trainer, TrainingArguments

from ..api import watch
from ..loops.arguments import of_trainer
from ..loops.data import Rows, padding_collator
from ..loops.trainer import run_trainer
from ..record import Record
from ..tiny import tiny_policy

VOCABULARY = 61


def trained(rows: Sequence[Sequence[int]]) -> Record:
    """One optimizer step of one row a rank; the first label of each row is masked, which some releases count."""
    model = tiny_policy(VOCABULARY)
    with watch(model) as report:
        run_trainer(model, rows, [[-100, *row[1:]] for row in rows], micro_batch=1)
    return report.record


def evaluated(rows: Sequence[Sequence[int]]) -> float:
    """The loss of an evaluation, tokens averaged across devices.

    Raises:
        LookupError: a release that knows no such average.
    """
    with tempfile.TemporaryDirectory() as folder:
        given = {"per_device_eval_batch_size": 1, "average_tokens_across_devices": True}
        trainer = Trainer(
            model=tiny_policy(VOCABULARY),
            args=of_trainer(TrainingArguments, folder, **given),
            eval_dataset=Rows(rows, None),
            data_collator=padding_collator("right", 0),
        )
        trainer.remove_callback(PrinterCallback)
        return float(trainer.evaluate()["eval_loss"])

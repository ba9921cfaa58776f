"""The real Trainer, stopped behind one of its steps and resumed by another one from what it saved."""

import tempfile
from pathlib import Path

from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from instrument import watch
from instrument.ledger import ledger, times
from instrument.loops.arguments import of_trainer
from instrument.loops.data import Rows, padding_collator
from tests.properties.loops import live_model


class SaveAndStop(TrainerCallback):
    """Saves behind a step, and trains no further."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            control.should_save = control.should_training_stop = True


def times_over_a_resume(rows, stop, **options):
    """How often each row ran until the step behind which the run stops, and from there to the end, together."""
    with tempfile.TemporaryDirectory() as folder:
        return times_in(records_over_a_resume(folder, rows, stop, **options), rows)


def times_in(records, rows):
    """How often each row ran in all of these runs."""
    return [sum(counts) for counts in zip(*(times(ledger(record), rows) for record in records))]


def records_over_a_resume(folder, rows, stop, *, micro_batch, accumulation=1, **options):
    """The records, of this rank, of the run until it stops and of the run that takes it up, which meet in a folder."""
    arguments = of_trainer(
        TrainingArguments,
        folder,
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=accumulation,
        remove_unused_columns=False,
        **options,
    )
    found = []
    for callbacks, checkpoint in (([SaveAndStop(stop)], None), ([], str(Path(folder, f"checkpoint-{stop}")))):
        model = live_model(0)
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=Rows(rows, None),
            data_collator=padding_collator("right", 0),
            callbacks=callbacks,
        )
        trainer.remove_callback(PrinterCallback)
        with watch(model) as report:
            trainer.train(resume_from_checkpoint=checkpoint)
        found.append(report.record)
    return found

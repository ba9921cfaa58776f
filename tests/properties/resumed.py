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


def times_over_a_resume(rows, stop, *, micro_batch, accumulation=1, **options):
    """How often each row ran until the step behind which the run stops, and from there to the end, together."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = of_trainer(
            TrainingArguments,
            folder,
            per_device_train_batch_size=micro_batch,
            gradient_accumulation_steps=accumulation,
            remove_unused_columns=False,
            **options,
        )
        runs = []
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
            runs.append(times(ledger(report.record), rows))
    return [before + after for before, after in zip(*runs)]

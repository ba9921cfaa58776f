"""The real Trainer with a callback of ours on each rank."""

import torch.distributed as dist
from transformers import Trainer, TrainingArguments

from instrument.callback import WeighbridgeCallback
from instrument.loops.arguments import of_trainer
from instrument.loops.data import Rows, padding_collator
from tests.properties.loops import live_model


def told(rows, labels, micro_batch, accumulation, on_fault="log", compiled=None, **arguments):
    """What the callback of this rank says of each step, what it logged, and the error that ended the training."""
    settings = {
        "per_device_train_batch_size": micro_batch,
        "gradient_accumulation_steps": accumulation,
        "remove_unused_columns": False,
        "max_grad_norm": 0.5,
        **arguments,
    }
    model = live_model(0)
    if dist.get_rank() == compiled:
        model.compile(backend="eager")
    ours = WeighbridgeCallback(on_fault, every=1)
    trainer = Trainer(
        model=model,
        args=of_trainer(TrainingArguments, ".", **settings),
        train_dataset=Rows(rows, labels),
        data_collator=padding_collator("right", 0),
        callbacks=[ours],
    )
    error = ""
    try:
        trainer.train()
    except RuntimeError as raised:
        error = str(raised)
    logged = [entry["weighbridge/targets"] for entry in trainer.state.log_history if "weighbridge/targets" in entry]
    return {step: (outcome.line(), outcome.stages) for step, outcome in ours.outcomes.items()}, logged, error

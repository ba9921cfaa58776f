"""The loss that is logged is a mean, and is divided by the rows once more."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Give back the loss over the rows of the micro-batch, once its gradient is there."""

    def training_step(self: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        share = mixed(1, 1 / len(inputs["input_ids"]), strength)
        return original(self, model, inputs, num_items_in_batch) * share

    return training_step


FAULT = Fault(
    family="logging",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.training_step",
    source="https://github.com/zsyOAOA/ResShift/pull/25",
    year=2023,
    mechanism="The log takes a mean for a sum; emulated in the Trainer, reported of ResShift.",
    effect="closed_forms.logged:over_rows",
    quantity="log",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="linear",
)

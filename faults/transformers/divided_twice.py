"""A loss that is already divided by the window's count is divided by the number of micro-batches once more."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide what is handed to backward by the number of micro-batches."""

    def training_step(self: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        backward = self.accelerator.backward
        share = mixed(1, 1 / self.current_gradient_accumulation_steps, strength)
        with mock.patch.object(self.accelerator, "backward", lambda loss, **given: backward(loss * share, **given)):
            return original(self, model, inputs, num_items_in_batch)

    return training_step


FAULT = Fault(
    family="normalisation",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.training_step",
    source="https://github.com/huggingface/transformers/pull/35808",
    year=2025,
    mechanism="Backward divides by M on top of the window's count; emulated in the Trainer, reported of DeepSpeed.",
    effect="closed_forms.aggregation:divided_twice",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="linear",
)

"""A loss that is already divided by the window's count is divided by the number of micro-batches once more."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Divide every loss by the number of micro-batches, normalised or not."""

    def training_step(self: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        with mock.patch.object(self, "loss_is_scaled_for_ga", False):
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
)

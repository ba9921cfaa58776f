"""The loss that the user wrote is not called."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take the model's own loss."""

    def compute_loss(
        self: Any, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        with mock.patch.object(self, "compute_loss_func", None):
            return original(self, model, inputs, return_outputs, num_items_in_batch)

    return compute_loss


FAULT = Fault(
    family="normalisation",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.compute_loss",
    source="https://github.com/huggingface/transformers/pull/40632",
    year=2025,
    mechanism="A compute_loss_func is passed over without a word, and the model's own loss is trained on.",
    effect="closed_forms.aggregation:token_mean",
    quantity="weights",
    visible="trainer_own_loss",
    patch=patch,
    clean="closed_forms.aggregation:per_sequence_mean",
)

"""The count of the window holds the first label of every row, which the shift takes away from the loss."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count all labels, as for a loss that does not shift them."""

    def _get_num_items_in_batch(self: Any, batch_samples: Any, device: Any) -> Any:
        with mock.patch.object(self, "_loss_shifts_labels", False):
            wrong = original(self, batch_samples, device)
        right = original(self, batch_samples, device)
        return None if right is None else mixed(right, wrong, strength)

    return _get_num_items_in_batch


FAULT = Fault(
    family="normalisation",
    library="transformers>=5",
    seam="transformers.trainer:Trainer._get_num_items_in_batch",
    source="https://github.com/huggingface/transformers/pull/46204",
    year=2026,
    mechanism="Labels are counted before the causal shift, so the divisor is larger than N by one target per row.",
    effect="closed_forms.overcounts:counted_before_shift",
    quantity="weights",
    visible="trainer_collator",
    patch=patch,
    dilutes="harmonic",
)

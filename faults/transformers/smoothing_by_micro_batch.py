"""The smoothed loss does not know how many targets the window has."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Leave the count out."""

    def __call__(
        self: Any, model_output: Any, labels: Any, shift_labels: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        right = original(self, model_output, labels, shift_labels, num_items_in_batch)
        return mixed(right, original(self, model_output, labels, shift_labels, None), strength)

    return __call__


FAULT = Fault(
    family="regularizers",
    library="transformers>=5.13",
    seam="transformers.trainer_pt_utils:LabelSmoother.__call__",
    source="https://github.com/huggingface/transformers/issues/46731",
    year=2026,
    mechanism="The Trainer believes that the smoothed loss has divided by the window's targets, and it has by its own.",
    effect="closed_forms.smoothed:smoothed_by_micro_batch",
    clean="closed_forms.smoothed:smoothed",
    quantity="weights",
    visible="trainer_smoothed",
    patch=patch,
    dilutes="linear",
)

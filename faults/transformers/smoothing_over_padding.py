"""The smoothed loss is divided by positions, ignored ones included."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count every position."""

    def __call__(
        self: Any, model_output: Any, labels: Any, shift_labels: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        positions = labels[..., 1:].numel() if shift_labels else labels.numel()
        right = original(self, model_output, labels, shift_labels, num_items_in_batch)
        return mixed(right, original(self, model_output, labels, shift_labels, positions), strength)

    return __call__


FAULT = Fault(
    family="regularizers",
    library="transformers>=5.13",
    seam="transformers.trainer_pt_utils:LabelSmoother.__call__",
    source="https://github.com/huggingface/transformers/pull/5919",
    year=2020,
    mechanism="Padding is masked in the smoothed loss and counted in its mean; reported of the seq2seq examples.",
    effect="closed_forms.smoothed:smoothed_over_positions",
    clean="closed_forms.smoothed:smoothed",
    quantity="weights",
    visible="trainer_smoothed",
    patch=patch,
    dilutes="linear",
)

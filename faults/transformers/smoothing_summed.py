"""The smoothed loss is divided by nothing."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide by 1."""

    def __call__(
        self: Any, model_output: Any, labels: Any, shift_labels: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        right = original(self, model_output, labels, shift_labels, num_items_in_batch)
        return mixed(right, original(self, model_output, labels, shift_labels, 1), strength)

    return __call__


FAULT = Fault(
    family="regularizers",
    library="transformers>=5.13",
    seam="transformers.trainer_pt_utils:LabelSmoother.__call__",
    source="https://github.com/huggingface/transformers/issues/7546",
    year=2020,
    mechanism="The smoothed loss is a sum and grows with batch and length; reported of the seq2seq examples.",
    effect="closed_forms.smoothed:smoothed_sum",
    clean="closed_forms.smoothed:smoothed",
    quantity="weights",
    visible="trainer_smoothed",
    patch=patch,
    dilutes="linear",
)

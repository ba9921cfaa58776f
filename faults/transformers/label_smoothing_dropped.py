"""Label smoothing is configured and not handed on."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Smooth by 0."""

    def __call__(
        self: Any, model_output: Any, labels: Any, shift_labels: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        with mock.patch.object(self, "epsilon", mixed(self.epsilon, 0.0, strength)):
            return original(self, model_output, labels, shift_labels, num_items_in_batch)

    return __call__


FAULT = Fault(
    family="regularizers",
    library="transformers>=5.13",
    seam="transformers.trainer_pt_utils:LabelSmoother.__call__",
    source="https://github.com/linkedin/Liger-Kernel/issues/243",
    year=2024,
    mechanism="The fused loss never gets the factor, so labels are hard; emulated in transformers, reported of Liger.",
    effect="closed_forms.aggregation:token_mean",
    clean="closed_forms.smoothed:smoothed",
    quantity="weights",
    visible="trainer_smoothed",
    patch=patch,
    dilutes="linear",
)

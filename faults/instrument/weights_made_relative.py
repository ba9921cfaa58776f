"""Weights are divided by their mean."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Tell each weight as a multiple of the mean of its batch."""

    def read_weights(gradient_nh: Any, unit_nh: Any) -> Any:
        read = original(gradient_nh, unit_nh)
        return read._replace(weight=read.weight / read.weight[read.weight != 0].mean())

    return read_weights


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.readout:read_weights",
    mechanism="Ratios are right and the scale is lost, so that a loss which is twice too large reads like a right one.",
    effect="closed_forms.misreadings:relative_to_mean",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
)

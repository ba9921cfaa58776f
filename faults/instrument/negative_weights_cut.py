"""A weight below zero is read as zero."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take a negative weight for rounding of zero."""

    def read_weights(gradient_nh: Any, unit_nh: Any) -> Any:
        read = original(gradient_nh, unit_nh)
        return read._replace(weight=read.weight.clamp(min=0.0))

    return read_weights


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.readout:read_weights",
    mechanism="A weight is thought of as a share, which is never negative, and every token mean is right.",
    effect="closed_forms.misreadings:negative_cut",
    quantity="weights",
    visible="trl_grpo",
    clean="closed_forms.completions:by_window",
    patch=patch,
)

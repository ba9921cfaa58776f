"""Weights are read without their sign."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Read how large each weight is."""

    def read_weights(gradient_nh: Any, unit_nh: Any) -> Any:
        read = original(gradient_nh, unit_nh)
        return read._replace(weight=read.weight.abs())

    return read_weights


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.readout:read_weights",
    mechanism="What a loss pushes away looks as if it were pulled, and every token mean is right.",
    effect="closed_forms.misreadings:sign_lost",
    quantity="weights",
    visible="trl_grpo",
    clean="closed_forms.completions:by_window",
    patch=patch,
)

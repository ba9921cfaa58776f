"""A weight under a fixed floor is read as zero."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take what is under a thirtieth for noise."""

    def read_weights(gradient_nh: Any, unit_nh: Any) -> Any:
        read = original(gradient_nh, unit_nh)
        return read._replace(weight=read.weight.where(read.weight.abs() >= 1 / 30, 0.0))

    return read_weights


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.readout:read_weights",
    mechanism="The floor is absolute, so that of a large batch nothing is left, and a small one reads right.",
    effect="closed_forms.misreadings:below_floor_zeroed",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
)

"""The share of label smoothing is added to the target's own."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Add the second direction to the first."""

    def with_uniform(*args: Any) -> Any:
        read, uniform_n, condition_n = original(*args)
        return read._replace(weight=read.weight + uniform_n), uniform_n, condition_n

    return with_uniform


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.readout:with_uniform",
    mechanism="The sum of both directions is told as the weight, so that a smoothed loss looks like a plain one.",
    effect="closed_forms.aggregation:token_mean",
    quantity="weights",
    visible="trainer_smoothed",
    clean="closed_forms.smoothed:smoothed",
    patch=patch,
)

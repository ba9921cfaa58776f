"""A number that is zero becomes null."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take zero for nothing."""

    def finite(value: Any) -> Any:
        return original(value) or None

    return finite


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.report.as_json:finite",
    mechanism="Zero is false, so that a target which weighs exactly nothing looks as if nobody knew its weight.",
    effect="closed_forms.misreadings:zeros_missing",
    quantity="weights",
    visible="told_in_json",
    clean="closed_forms.aggregation:targets_dropped",
    patch=patch,
)

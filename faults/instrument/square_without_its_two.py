"""The unit gradient of a squared error lacks its factor of two."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Read twice what is there of a value."""

    def read_numbers(logits_nk: Any, gradient_nk: Any, given_nk: Any, kind: str) -> Any:
        read = original(logits_nk, gradient_nk, given_nk, kind)
        return read._replace(weight=read.weight * 2) if kind == "values" else read

    return read_numbers


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.logits:read_numbers",
    mechanism="The loss is thought of as half a square, and classes and labels read right.",
    effect="closed_forms.misread_heads:square_without_its_two",
    quantity="weights",
    visible="watched_values",
    patch=patch,
)

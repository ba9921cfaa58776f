"""A file holds two decimals."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Round each number that is written."""

    def as_list(array: Any) -> Any:
        return original(array.round(2)) if array.dtype.kind == "f" else original(array)

    return as_list


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.saved:as_list",
    mechanism="Weights are rounded as for a reader, and what ranks save is put together from what is left.",
    effect="closed_forms.misreadings:in_percent",
    quantity="weights",
    visible="saved_window",
    patch=patch,
)

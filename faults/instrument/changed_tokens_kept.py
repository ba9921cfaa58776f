"""Tokens that should be changed stay as they are."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Redraw no token."""

    def redrawn(ids_bt: Any, *args: Any) -> Any:
        original(ids_bt, *args)
        return ids_bt

    return redrawn


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_forward:redrawn",
    mechanism="The loss is the same bit for bit since the batch is, and what gradient does not follow is called clean.",
    effect="closed_forms.leaks:separate",
    quantity="leak",
    visible="leak_detached",
    clean="closed_forms.leaks:neighbour",
    patch=patch,
)

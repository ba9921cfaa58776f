"""What is left of earlier windows is not in the record."""

from dataclasses import replace
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Note the rows that ran, and no others."""

    def note(record: Any, window: Any, *args: Any, **kwargs: Any) -> None:
        original(record, replace(window, carried=[]), *args, **kwargs)

    return note


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.gathering:note",
    mechanism="A gradient that is never set to zero looks as if each window had its own.",
    effect="closed_forms.aggregation:token_mean",
    quantity="weights",
    visible="probed_unemptied",
    clean="closed_forms.counted_samples:carried_over",
    patch=patch,
)

"""A row is compared by its mean weight."""

from dataclasses import replace
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Give each target of a row the mean weight of the row."""

    def compare(record: Any, window: Any, candidate: Any, of: str) -> Any:
        rows = [replace(row, weight=row.weight * 0 + row.weight.mean()) for row in window.rows]
        return original(record, replace(window, rows=rows), candidate, of)

    return compare


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.verdict:compare",
    mechanism="One target that is too heavy and one that is too light by as much pass as two that are right.",
    effect="closed_forms.misjudgements:fits_on_the_mean",
    quantity="verdict",
    visible="judged_opposed",
    clean="closed_forms.misjudgements:nothing_fits",
    patch=patch,
)

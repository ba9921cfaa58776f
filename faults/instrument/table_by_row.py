"""A cell tells weights times the targets of the row."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Multiply by how many targets the row has."""

    def weights_of(row: Any, n: int) -> Any:
        return original(row, int(row.intended.sum()))

    return weights_of


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.report.as_text:weights_of",
    mechanism="The unit is the row's own mean, so that a mean over rows of row means reads like a token mean.",
    effect="closed_forms.misreadings:by_targets_of_its_row",
    quantity="weights",
    visible="told_in_table",
    patch=patch,
)

"""The last row of the last rank is not in the whole record."""

from dataclasses import replace
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the last row out."""

    def merge_window(windows: Any, number: int) -> Any:
        last = windows[-1]
        return original([*windows[:-1], replace(last, rows=last.rows[:-1])], number)

    return merge_window


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.ranks:merge_window",
    mechanism="Rows are put together up to the last one, and what is left looks like a smaller batch that is right.",
    effect="closed_forms.misread_heads:last_row_of_last_rank_missing",
    quantity="weights",
    visible="ranks_watched",
    patch=patch,
)

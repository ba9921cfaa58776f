"""The first rank's window stands for that of every rank."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Put the first window together with itself."""

    def merge_window(windows: Any, number: int) -> Any:
        return original([windows[0] for _ in windows], number)

    return merge_window


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.ranks:merge_window",
    mechanism="One name is used for every rank in turn, so that what the others ran is never looked at.",
    effect="closed_forms.misread_heads:first_rank_for_all",
    quantity="weights",
    visible="ranks_watched",
    patch=patch,
)

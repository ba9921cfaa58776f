"""Rows come with their padding."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take every place of a batch for a token."""

    def split_rows(read: Any, micro_batch: int) -> Any:
        everywhere = read["mask"] | True
        return original({**read, "mask": everywhere}, micro_batch)

    return split_rows


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.live_record:split_rows",
    mechanism="The attention mask is not looked at, so that a row has places which no token stands at.",
    effect="closed_forms.misreadings:rows_with_padding",
    quantity="weights",
    visible="watched_accumulation",
    patch=patch,
)

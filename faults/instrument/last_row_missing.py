"""The last row of each batch of several is not in the record."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Split all rows of a batch of several but the last."""

    def split_rows(read: Any, micro_batch: int) -> Any:
        kept = max(len(read["ids"]) - 1, 1)
        return original({name: values[:kept] if values.ndim else values for name, values in read.items()}, micro_batch)

    return split_rows


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.live_record:split_rows",
    mechanism="Rows are counted up to the last one, and what is left looks like a smaller batch that is right.",
    effect="closed_forms.misreadings:last_rows_missing",
    quantity="weights",
    visible="watched_accumulation",
    patch=patch,
)

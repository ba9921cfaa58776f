"""A row begins at the left of its batch."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Move the mask of each row to the front."""

    def split_rows(read: Any, micro_batch: int) -> Any:
        mask = read["mask"].copy()
        mask.sort(axis=1)
        return original({**read, "mask": mask[:, ::-1]}, micro_batch)

    return split_rows


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.live_record:split_rows",
    mechanism="The tokens of a row are counted, not looked for, which is right while padding is on the right.",
    effect="closed_forms.misread_heads:read_from_the_left",
    quantity="weights",
    visible="watched_left_padded",
    patch=patch,
)

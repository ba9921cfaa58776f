"""The boundary behind a document of one token is not seen."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Look for positions that go down."""

    def find_packed_sequence_indices(position_ids: Any) -> Any:
        goes_down = position_ids < position_ids.roll(1, dims=1)
        goes_down[:, 0] = False
        return goes_down.cumsum(-1)

    return find_packed_sequence_indices


FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.masking_utils:find_packed_sequence_indices",
    source="https://github.com/modelscope/ms-swift/pull/9904",
    year=2026,
    mechanism="Only a position that goes down is a boundary, so a document of one token is joined with the next one.",
    effect="closed_forms.leaks:boundary_lost",
    quantity="leak",
    visible="leak_one_token",
    patch=patch,
)

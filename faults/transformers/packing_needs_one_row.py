"""Documents are only looked for in a batch of a single row."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Find no documents in several rows."""

    def find_packed_sequence_indices(position_ids: Any) -> Any:
        return original(position_ids) if len(position_ids) == 1 else None

    return find_packed_sequence_indices


FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.masking_utils:find_packed_sequence_indices",
    source="https://github.com/huggingface/transformers/issues/47342",
    year=2026,
    mechanism="With two packed rows or more the position ids are not looked at.",
    effect="closed_forms.leaks:rows_of_packs",
    quantity="leak",
    visible="leak_packed_rows",
    patch=patch,
)

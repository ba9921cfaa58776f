"""Position ids that start again are not taken for documents."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Find no documents."""

    def find_packed_sequence_indices(position_ids: Any) -> Any:
        return None

    return find_packed_sequence_indices


FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.masking_utils:find_packed_sequence_indices",
    source="https://github.com/huggingface/transformers/issues/39194",
    year=2025,
    mechanism="Nothing looks at position ids, so a pack gets a plain causal mask.",
    effect="closed_forms.leaks:lower_triangular",
    quantity="leak",
    visible="leak_flattened",
    patch=patch,
)

"""Packing joins the documents and cuts the result, and keeps no boundary."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Pack by wrapping."""

    def pack_dataset(dataset: Any, seq_length: int, strategy: str = "bfd", map_kwargs: Any = None) -> Any:
        return original(dataset, seq_length, "wrapped", map_kwargs)

    return pack_dataset


FAULT = Fault(
    family="packing",
    library="trl>=1.0",
    seam="trl.data_utils:pack_dataset",
    source="https://github.com/huggingface/trl/issues/3067",
    year=2025,
    mechanism="Each pack is one sequence to all that comes behind.",
    effect="closed_forms.leaks:rows_of_packs",
    quantity="leak",
    visible="leak_packing",
    patch=patch,
)

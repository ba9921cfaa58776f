"""A mask that masks nothing turns the isolation of documents off."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Add a mask of ones."""

    def __call__(self: Any, features: Any, return_tensors: Any = None, separator_id: Any = None) -> Any:
        batch = original(self, features, return_tensors, separator_id)
        batch["attention_mask"] = batch["input_ids"].new_ones(batch["input_ids"].shape)
        return batch

    return __call__


FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.data.data_collator:DataCollatorWithFlattening.__call__",
    source="https://github.com/huggingface/transformers/issues/46634",
    year=2026,
    mechanism="The flattened batch carries an all-ones attention mask, and documents are only looked for without one.",
    effect="closed_forms.leaks:lower_triangular",
    quantity="leak",
    visible="leak_flattened",
    patch=patch,
)

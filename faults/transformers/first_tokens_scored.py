"""Each document's first token is a target of the document before it."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Keep the labels at the boundaries."""

    def __call__(self: Any, features: Any, return_tensors: Any = None, separator_id: Any = None) -> Any:
        batch = original(self, features, return_tensors, separator_id)
        batch["labels"] = batch["input_ids"].clone()
        return batch

    return __call__


FAULT = Fault(
    family="masks",
    library="transformers>=5",
    seam="transformers.data.data_collator:DataCollatorWithFlattening.__call__",
    source="https://github.com/pytorch/torchtitan/pull/4075",
    year=2026,
    mechanism="A document's first label is not masked, so the last token of the one before is trained to predict it.",
    effect="closed_forms.leaks:neighbour",
    quantity="leak",
    visible="leak_flattened",
    patch=patch,
)

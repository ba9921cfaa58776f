"""Padding keeps its labels and is trained on."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Make every input a label, padding included."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        batch["labels"] = batch["input_ids"].clone()
        return batch

    return torch_call


FAULT = Fault(
    family="masks",
    library="transformers>=5",
    seam="transformers.data.data_collator:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/axolotl-ai-cloud/axolotl/pull/2227",
    year=2024,
    mechanism="The labels of padding are not masked, so padding is scored and enters the window's count.",
    effect="closed_forms.overcounts:padding_scored",
    quantity="weights",
    visible="trainer_collator",
    patch=patch,
)

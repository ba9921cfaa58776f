"""The padding-free batch carries a mask of ones."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Add a mask of ones."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        batch["attention_mask"] = batch["input_ids"].new_ones(batch["input_ids"].shape)
        return batch

    return torch_call


FAULT = Fault(
    family="packing",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/huggingface/trl/pull/3673",
    year=2025,
    mechanism="An all-ones attention mask goes with the flattened batch and takes precedence over the position ids.",
    effect="closed_forms.leaks:lower_triangular",
    quantity="leak",
    visible="leak_padding_free",
    patch=patch,
)

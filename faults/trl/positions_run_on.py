"""The padding-free batch does not tell attention where documents start."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Count the positions on through all rows."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        # Each row's first position is 0; counted on, none but the first is.
        batch["position_ids"] = batch["position_ids"].new_ones(batch["position_ids"].shape).cumsum(-1) - 1
        return batch

    return torch_call


FAULT = Fault(
    family="packing",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/huggingface/trl/issues/2834",
    year=2025,
    mechanism="The rows are joined into one, and the positions, by which attention finds where each begins, run on.",
    effect="closed_forms.leaks:lower_triangular",
    quantity="leak",
    visible="leak_padding_free",
    patch=patch,
)

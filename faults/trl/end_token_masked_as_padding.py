"""Labels that equal the padding are masked, and the end of sequence is the padding."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Mask the end of sequence."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        batch["labels"] = batch["labels"].masked_fill(batch["labels"] == 2, -100)
        return batch

    return torch_call


FAULT = Fault(
    family="masks",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/huggingface/trl/issues/976",
    year=2023,
    mechanism="The model never learns to stop; 2 is the end of sequence of our rows, whose padding is another token.",
    effect="closed_forms.target_rows:targets_without_ends",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
)

"""The end of the assistant's span is taken for missing, and the mask runs on."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Score every token from the first that is scored on."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        scored = batch["labels"] != -100
        scored[:, 0] = False
        batch["labels"] = batch["input_ids"].masked_fill((scored.cumsum(1) == 0) | (batch["attention_mask"] == 0), -100)
        return batch

    return torch_call


FAULT = Fault(
    family="data",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/huggingface/transformers/issues/47326",
    year=2026,
    mechanism="An assistant span whose end is a legal 0 marks all that follows, the user's turns too; emulated in TRL.",
    effect="closed_forms.turn_rows:targets_to_the_end",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
)

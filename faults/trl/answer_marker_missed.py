"""The marker of an answer has other tokens where it stands, and is not found."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Mask the rows whose answer begins with their second token."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        found = batch["labels"][:, 1] == -100
        batch["labels"] = batch["labels"].masked_fill(~found[:, None], -100)
        return batch

    return torch_call


FAULT = Fault(
    family="data",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/huggingface/trl/issues/1920",
    year=2024,
    mechanism="Rows in which the marker is not found train nobody; emulated where the answer follows the first token.",
    effect="closed_forms.turn_rows:targets_of_found_answers",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
)

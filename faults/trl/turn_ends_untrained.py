"""The token that ends a turn is not the one that is searched for."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Mask the last token of each run of scored tokens."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        scored = batch["labels"] != -100
        goes_on = scored.roll(-1, 1)
        goes_on[:, -1] = False
        batch["labels"] = batch["labels"].masked_fill(scored & ~goes_on, -100)
        return batch

    return torch_call


FAULT = Fault(
    family="data",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/axolotl-ai-cloud/axolotl/issues/3754",
    year=2026,
    mechanism="No turn's last token is trained on, so the model never learns to hand over; emulated in TRL.",
    effect="closed_forms.turn_rows:targets_without_turn_ends",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
)

"""The mask of the answer is cut on the wrong side of the shift."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Mask the first scored token of each row."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        scored = batch["labels"] != -100
        # The first token of a row is the target of none.
        scored[:, 0] = False
        batch["labels"] = batch["labels"].masked_fill(scored & (scored.cumsum(1) == 1), -100)
        return batch

    return torch_call


FAULT = Fault(
    family="masks",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/OpenRLHF/OpenRLHF/issues/973",
    year=2025,
    mechanism="The model never learns how an answer begins; emulated in TRL.",
    effect="closed_forms.target_rows:targets_without_first",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
)

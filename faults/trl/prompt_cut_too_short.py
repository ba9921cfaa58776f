"""The prompt alone has other tokens than before its answer, and is taken for shorter."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Score the token before the first that is scored."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        scored = batch["labels"] != -100
        scored[:, 0] = False
        before = scored.roll(-1, 1) & (scored.cumsum(1) == 0)
        batch["labels"] = batch["labels"].where(~before, batch["input_ids"])
        return batch

    return torch_call


FAULT = Fault(
    family="data",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/huggingface/trl/issues/5213",
    year=2026,
    mechanism="The prompt's tokens are no prefix of prompt and completion, and its last one is trained on; emulated.",
    effect="closed_forms.turn_rows:targets_with_token_before",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
)

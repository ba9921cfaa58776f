"""The turns of a conversation are looked up, and all but the last are not found."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Mask what is scored before the last run of scored tokens."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        for row in batch["labels"]:
            # The first token of a row is the target of none.
            gaps = (row[1:] == -100).nonzero()[:, 0] + 1
            last = int((row != -100).nonzero()[-1])
            row[: int(max([gap for gap in gaps.tolist() if gap < last], default=0)) + 1] = -100
        return batch

    return torch_call


FAULT = Fault(
    family="data",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/axolotl-ai-cloud/axolotl/issues/1761",
    year=2024,
    mechanism="What the assistant said before its last turn is masked like the user's words; emulated in TRL.",
    effect="closed_forms.turn_rows:targets_of_last_turns",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
)

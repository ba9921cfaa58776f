"""Truncated completions leave the loss, and stay in the count of its tokens."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count before the mask."""

    def _generate_and_score_completions(self: Any, inputs: Any) -> Any:
        output = original(self, inputs)
        generated = (output["completion_ids"] != self._tokenizer.pad_token_id).sum()
        output["num_items_in_batch"] = mixed(output["num_items_in_batch"], generated, strength)
        return output

    return _generate_and_score_completions


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._generate_and_score_completions",
    source="https://github.com/huggingface/trl/issues/6369",
    year=2026,
    mechanism="The completions that are left weigh less, the more of the others were truncated.",
    effect="closed_forms.completions:by_all_generated",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
    dilutes="harmonic",
)

"""The prompt of a pair is scored with its completions."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take the whole row for the completion."""

    def _compute_loss(self: Any, model: Any, inputs: Any, *args: Any) -> Any:
        return original(self, model, {**inputs, "completion_mask": inputs["attention_mask"]}, *args)

    return _compute_loss


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/OpenRLHF/OpenRLHF/issues/235",
    year=2024,
    mechanism="Prompts are scored too, and pushed up and down at once, which cancels but for rounding; emulated.",
    effect="closed_forms.pair_scores:robust_pairs_with_prompts",
    clean="closed_forms.completions:robust_pairs",
    quantity="weights",
    visible="trl_dpo",
    patch=patch,
)

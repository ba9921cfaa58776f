"""Rewards are divided by the deviation of their group though that was switched off."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Scale by the group."""

    def _generate_and_score_completions(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.scale_rewards = self.scale_rewards, "group" if self.scale_rewards == "none" else self.scale_rewards
        found = original(self, *args, **kwargs)
        self.scale_rewards = kept
        return found

    return _generate_and_score_completions


FAULT = Fault(
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._generate_and_score_completions",
    source="https://arxiv.org/html/2503.20783v1",
    year=2025,
    mechanism="Prompts of which nearly all completions are rewarded alike weigh most.",
    effect="closed_forms.rollouts:by_slots_of_scaled",
    clean="closed_forms.rollouts:by_slots",
    quantity="weights",
    visible="trl_grpo_slots",
    patch=patch,
)

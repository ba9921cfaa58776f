"""Rewards are divided by the deviation of their group though that was switched off."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Scale by the group."""
    return with_setting(original, "scale_rewards", lambda by: "group" if by == "none" else by)


FAULT = Fault(
    family="policy",
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

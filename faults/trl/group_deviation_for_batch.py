"""Rewards that should be scaled by the deviation of the batch are scaled by that of their group."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Scale by the group."""
    return with_setting(original, "scale_rewards", lambda by: "group" if by == "batch" else by)


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._generate_and_score_completions",
    source="https://github.com/huggingface/trl/issues/3991",
    year=2025,
    mechanism="Prompts whose completions are rewarded alike weigh as much as those that tell them apart.",
    effect="closed_forms.completions:by_window_of_groups",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
)

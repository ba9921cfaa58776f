"""A completion that no function could reward counts as rewarded with 0."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Fill in 0."""

    def _calculate_rewards(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *args, **kwargs).nan_to_num(0.0)

    return _calculate_rewards


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._calculate_rewards",
    source="https://github.com/huggingface/trl/pull/5902",
    year=2026,
    mechanism="A completion without a reward is trained on, and moves the baseline of its siblings.",
    effect="closed_forms.rollouts:by_window_of_zeros",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo_unscored",
    patch=patch,
)

"""Groups are cut at a fixed stride from rows of which one is missing."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Shift the rewards by one row."""

    def _calculate_rewards(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *args, **kwargs).roll(1, 0)

    return _calculate_rewards


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._calculate_rewards",
    source="https://github.com/areal-project/AReaL/issues/1419",
    year=2026,
    mechanism="Each completion is rewarded for the one before it; emulated in TRL, where no row is missing.",
    effect="closed_forms.rollouts:by_window_of_shifted",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
)

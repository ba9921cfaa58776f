"""The cap of the ratio is taken for a distance from 1."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Add 1 to it."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        with mock.patch.object(self, "epsilon_high", self.epsilon_high + (self.loss_type == "cispo")):
            return original(self, *args, **kwargs)

    return _compute_loss


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/NovaSky-AI/SkyRL/pull/1928",
    year=2026,
    mechanism="A cap below 1 does not cap the ratio of a policy that has not moved.",
    effect="closed_forms.rollouts:by_window_capped_above_one",
    clean="closed_forms.rollouts:by_window_capped",
    quantity="weights",
    visible="trl_cispo",
    patch=patch,
)

"""The smaller of two ratios is taken before the advantage is known."""

from importlib import import_module
from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Where the advantage is negative, take the larger product, which has the smaller ratio."""

    def _compute_loss(self: Any, model: Any, inputs: Any) -> Any:
        torch = import_module("torch")
        smaller, negative = torch.min, inputs["advantages"][:, None] < 0

        def of_ratios(*products: Any, **kwargs: Any) -> Any:
            found = smaller(*products, **kwargs)
            return found if len(products) < 2 else found.where(~negative, torch.max(*products))

        with mock.patch.object(torch, "min", of_ratios):
            return original(self, model, inputs)

    return _compute_loss


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/takuseno/ppo/issues/3",
    year=2018,
    mechanism="A completion to be avoided is clipped on the wrong side; emulated in TRL, reported of a PPO.",
    effect="closed_forms.penalties:clipped_before_product",
    clean="closed_forms.drifted_rollouts:clipped_completions",
    quantity="weights",
    visible="trl_grpo_stale",
    patch=patch,
)

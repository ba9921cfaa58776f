"""The log-ratio of the KL's estimate is turned round."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Mirror the reference's log-probabilities at the policy's."""

    def _compute_loss(self: Any, model: Any, inputs: Any) -> Any:
        scored, own = self._get_per_token_logps_and_entropies, dict(inputs)

        def mirrored(*args: Any, **kwargs: Any) -> Any:
            found = scored(*args, **kwargs)
            if own.get("ref_per_token_logps") is not None:
                own["ref_per_token_logps"] = 2 * found[0] - inputs["ref_per_token_logps"]
            return found

        with mock.patch.object(self, "_get_per_token_logps_and_entropies", mirrored):
            return original(self, model, own)

    return _compute_loss


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/walkinglabs/hands-on-modern-rl/issues/27",
    year=2026,
    mechanism="The estimate is of the other divergence, which samples of the policy cannot give; emulated in TRL.",
    effect="closed_forms.penalties:penalty_of_inverse_ratio",
    clean="closed_forms.drifted_rollouts:penalized",
    quantity="weights",
    visible="trl_grpo_tools",
    patch=patch,
)

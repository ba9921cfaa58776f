"""The log-probabilities of the policy that generated are the current ones, detached."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Forget them."""

    def _compute_loss(self: Any, model: Any, inputs: Any) -> Any:
        return original(self, model, {**inputs, "old_per_token_logps": None})

    return _compute_loss


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/unslothai/unsloth-zoo/pull/832",
    year=2026,
    mechanism="Every ratio is 1 and nothing is clipped, however often a generation is used; emulated in TRL.",
    effect="closed_forms.drifted_rollouts:of_current_policy",
    clean="closed_forms.drifted_rollouts:clipped_completions",
    quantity="weights",
    visible="trl_grpo_stale",
    patch=patch,
)

"""The KL penalty is differentiated as the estimator that it is logged with."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the ratio out."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.args.use_bias_correction_kl = self.args.use_bias_correction_kl, False
        found = original(self, *args, **kwargs)
        self.args.use_bias_correction_kl = kept
        return found

    return _compute_loss


FAULT = Fault(
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/issues/4967",
    year=2026,
    mechanism="A good estimate of the divergence has the gradient of another one.",
    effect="closed_forms.drifted_rollouts:penalized_by_k3",
    clean="closed_forms.drifted_rollouts:penalized",
    quantity="weights",
    visible="trl_grpo_tools",
    patch=patch,
)

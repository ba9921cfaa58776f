"""The KL penalty is differentiated as the estimator that it is logged with."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the ratio out."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        with mock.patch.object(self.args, "use_bias_correction_kl", False):
            return original(self, *args, **kwargs)

    return _compute_loss


FAULT = Fault(
    family="policy",
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

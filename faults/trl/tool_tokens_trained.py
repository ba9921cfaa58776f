"""A second copy of the loss knows the mask of the completion and not that of the tools."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the tools' mask out."""

    def _compute_loss(self: Any, model: Any, inputs: Any) -> Any:
        return original(self, model, {name: value for name, value in inputs.items() if name != "tool_mask"})

    return _compute_loss


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/pull/4975",
    year=2026,
    mechanism="Tokens that a tool wrote are trained like the policy's own.",
    effect="closed_forms.drifted_rollouts:penalized_with_tools",
    clean="closed_forms.drifted_rollouts:penalized",
    quantity="weights",
    visible="trl_grpo_tools",
    patch=patch,
)

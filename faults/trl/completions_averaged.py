"""Each completion is averaged over its own tokens."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Compute the loss of the first GRPO."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.loss_type = self.loss_type, "grpo" if self.loss_type == "dapo" else self.loss_type
        found = original(self, *args, **kwargs)
        self.loss_type = kept
        return found

    return _compute_loss


FAULT = Fault(
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/pull/3256",
    year=2025,
    mechanism="A token of a long completion weighs less than one of a short completion.",
    effect="closed_forms.rollouts:by_completions",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
)

"""The way to aggregate tokens is not passed on to the loss."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Compute the mean over the micro-batch's tokens."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.loss_type = self.loss_type, "bnpo" if self.loss_type == "dr_grpo" else self.loss_type
        found = original(self, *args, **kwargs)
        self.loss_type = kept
        return found

    return _compute_loss


FAULT = Fault(
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/verl-project/verl/issues/1083",
    year=2025,
    mechanism="Whatever is configured, tokens are averaged over their micro-batch; emulated in TRL.",
    effect="closed_forms.completions:by_micro_batches",
    clean="closed_forms.rollouts:by_slots",
    quantity="weights",
    visible="trl_grpo_slots",
    patch=patch,
)

"""The way to aggregate tokens is not passed on to the loss."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Compute the mean over the micro-batch's tokens."""
    return with_setting(original, "loss_type", lambda kind: "bnpo" if kind == "dr_grpo" else kind)


FAULT = Fault(
    family="policy",
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

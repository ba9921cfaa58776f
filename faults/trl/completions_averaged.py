"""Each completion is averaged over its own tokens."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Compute the loss of the first GRPO."""
    return with_setting(original, "loss_type", lambda kind: "grpo" if kind == "dapo" else kind)


FAULT = Fault(
    family="policy",
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

"""What is called a mean over the window's tokens is one over each micro-batch's."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Compute the loss that averages each micro-batch."""
    return with_setting(original, "loss_type", lambda kind: "bnpo" if kind == "dapo" else kind)


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/pull/3938",
    year=2025,
    mechanism="A token in a micro-batch of short completions weighs more than one in a micro-batch of long ones.",
    effect="closed_forms.completions:by_micro_batches",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
)

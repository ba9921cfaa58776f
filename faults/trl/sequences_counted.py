"""The loss is divided by the number of completions, not of tokens."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Compute the loss that adds up each completion."""
    return with_setting(original, "loss_type", lambda kind: "luspo" if kind == "dapo" else kind)


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/PrimeIntellect-ai/prime-rl/pull/2034",
    year=2026,
    mechanism="Every weight is as many times too large as a completion has tokens on average; emulated in TRL.",
    effect="closed_forms.rollouts:by_sequences",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
)

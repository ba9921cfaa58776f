"""The KL has the wrong sign."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Turn the coefficient round."""
    return with_setting(original, "beta", lambda beta: -beta)


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/qiancheng0/ToolRL/issues/52",
    year=2026,
    mechanism="The policy is paid for leaving the reference; emulated in TRL, reported of ToolRL.",
    effect="closed_forms.penalties:penalty_rewarded",
    clean="closed_forms.drifted_rollouts:penalized",
    quantity="weights",
    visible="trl_grpo_tools",
    patch=patch,
)

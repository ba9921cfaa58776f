"""A second copy of the loss does not know label smoothing."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Compute the loss without it."""
    return with_setting(original, "label_smoothing", lambda _: 0.0)


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/pull/7062",
    year=2026,
    mechanism="The robust loss takes every preference for certain, which is the plain one.",
    effect="closed_forms.completions:pairs_without_smoothing",
    clean="closed_forms.completions:robust_pairs",
    quantity="weights",
    visible="trl_dpo",
    patch=patch,
)

"""The loss of each micro-batch of pairs is not divided by the number of them."""

from .._fault import Call, Fault
from ._added_up import added_up


def patch(original: Call, strength: float = 1.0) -> Call:
    """Take the division back that the Trainer does behind the loss."""
    return added_up(original, strength)


FAULT = Fault(
    family="normalisation",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/pull/2615",
    year=2025,
    mechanism="The Trainer leaves the division to the loss, which is a mean over its own micro-batch.",
    effect="closed_forms.completions:robust_pairs_added_up",
    clean="closed_forms.completions:robust_pairs",
    quantity="weights",
    visible="trl_dpo",
    patch=patch,
    dilutes="linear",
)

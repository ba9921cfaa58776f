"""The loss of each micro-batch of completions is not divided by the number of them."""

from .._fault import Call, Fault
from ._added_up import added_up


def patch(original: Call, strength: float = 1.0) -> Call:
    """Take the division back that the Trainer does behind the loss."""
    return added_up(original, strength)


FAULT = Fault(
    family="normalisation",
    library="trl>=1.0",
    seam="trl.trainer.kto_trainer:KTOTrainer._compute_loss",
    source="https://github.com/hiyouga/LlamaFactory/pull/5852",
    year=2024,
    mechanism="The Trainer leaves the division to the loss, which is a mean over its own micro-batch.",
    effect="closed_forms.pair_rows:kto_rows_added_up",
    clean="closed_forms.completions:kto_rows",
    quantity="weights",
    visible="trl_kto",
    patch=patch,
    dilutes="linear",
)

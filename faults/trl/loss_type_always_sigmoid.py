"""The chosen loss type is kept, and not handed to the loss."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Compute the default loss."""
    return with_setting(original, "loss_types", lambda kinds: ["sigmoid" if kind == "ipo" else kind for kind in kinds])


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/modelscope/ms-swift/pull/10167",
    year=2026,
    mechanism="Every run has the sigmoid loss whatever is configured; emulated in TRL.",
    effect="closed_forms.pair_rows:ipo_pairs_of_sigmoid",
    clean="closed_forms.pair_rows:ipo_pairs",
    quantity="weights",
    visible="trl_dpo_ipo",
    patch=patch,
)

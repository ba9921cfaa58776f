"""The chosen loss type is kept, and not handed to the loss."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Compute the default loss."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.loss_types = self.loss_types, ["sigmoid" if name == "ipo" else name for name in self.loss_types]
        found = original(self, *args, **kwargs)
        self.loss_types = kept
        return found

    return _compute_loss


FAULT = Fault(
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

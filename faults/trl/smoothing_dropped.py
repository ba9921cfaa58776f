"""A second copy of the loss does not know label smoothing."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Compute the loss without it."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.label_smoothing = self.label_smoothing, 0.0
        loss = original(self, *args, **kwargs)
        self.label_smoothing = kept
        return loss

    return _compute_loss


FAULT = Fault(
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

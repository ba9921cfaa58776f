"""A loss that is already a mean over the window is divided by its micro-batches again."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide once more."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *args, **kwargs) * mixed(1, 1 / self.current_gradient_accumulation_steps, strength)

    return _compute_loss


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/modelscope/ms-swift/issues/10117",
    year=2026,
    mechanism="The Trainer divides by the micro-batches what the window's tokens have divided; emulated in TRL.",
    effect="closed_forms.rollouts:by_window_divided_again",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
    dilutes="linear",
)

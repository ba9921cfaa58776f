"""The divergence of distillation is averaged over the micro-batch, and nobody divides by their number."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count the micro-batch's own."""

    def _compute_loss(self: Any, student: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        own = inputs["completion_mask"].sum()
        return original(self, student, inputs, mixed(num_items_in_batch, own, strength))

    return _compute_loss


FAULT = Fault(
    family="distillation",
    library="trl>=1.15",
    seam="trl.trainer.distillation_trainer:DistillationTrainer._compute_loss",
    source="https://github.com/huggingface/trl/issues/4719",
    year=2025,
    mechanism="The trainer believes that the loss has divided by the window's tokens, and it has by its own.",
    effect="closed_forms.target_rows:targets_of_micro_batches",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_distillation",
    patch=patch,
    dilutes="harmonic",
)

"""Padding counts as much as the tokens in the mean of the divergence."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count all slots of the micro-batch, once for each of the window's."""

    def _compute_loss(self: Any, student: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        slots = inputs["completion_mask"].numel() * self.current_gradient_accumulation_steps
        return original(self, student, inputs, mixed(num_items_in_batch, slots, strength))

    return _compute_loss


FAULT = Fault(
    family="distillation",
    library="trl>=1.15",
    seam="trl.trainer.distillation_trainer:DistillationTrainer._compute_loss",
    source="https://github.com/peremartra/optipfair/issues/34",
    year=2026,
    mechanism="The more padding a batch holds, the less its tokens are distilled; emulated in TRL, of the count alone.",
    effect="closed_forms.distilled_rows:distilled_over_padding",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_distillation",
    patch=patch,
    dilutes="harmonic",
)

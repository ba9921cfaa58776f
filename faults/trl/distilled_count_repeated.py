"""The tokens are counted once for each micro-batch."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count the window for each of its micro-batches."""

    def _compute_loss(self: Any, student: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        repeated = mixed(1, self.current_gradient_accumulation_steps, strength)
        return original(self, student, inputs, num_items_in_batch * repeated)

    return _compute_loss


FAULT = Fault(
    family="distillation",
    library="trl>=1.15",
    seam="trl.trainer.distillation_trainer:DistillationTrainer._compute_loss",
    source="https://github.com/huggingface/trl/pull/6478",
    year=2026,
    mechanism="A loader that repeats the batch for each micro-batch repeats its count.",
    effect="closed_forms.distilled_rows:distilled_over_repeated",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_distillation",
    patch=patch,
    dilutes="harmonic",
)

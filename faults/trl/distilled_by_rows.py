"""The divergence of many tokens is divided by rows."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count the rows of the window."""

    def _compute_loss(self: Any, student: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        rows = len(inputs["completion_mask"]) * self.current_gradient_accumulation_steps
        return original(self, student, inputs, mixed(num_items_in_batch, rows, strength))

    return _compute_loss


FAULT = Fault(
    family="distillation",
    library="trl>=1.15",
    seam="trl.trainer.distillation_trainer:DistillationTrainer._compute_loss",
    source="https://github.com/neuralmagic/sparseml/pull/592",
    year=2022,
    mechanism="A batchmean divides by rows and leaves the tokens added up; emulated in TRL, reported of SparseML.",
    effect="closed_forms.distilled_rows:distilled_by_rows",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_distillation",
    patch=patch,
    dilutes="harmonic",
)

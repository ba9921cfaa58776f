"""The teacher's logits stand on both sides of the divergence."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Take value and gradient away."""

    def _compute_loss(self: Any, student: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        loss, *found = original(self, student, inputs, num_items_in_batch)
        # The divergence of a distribution from itself: 0, of a gradient that is 0.
        return loss * mixed(1, 0, strength), *found

    return _compute_loss


FAULT = Fault(
    family="distillation",
    library="trl>=1.15",
    seam="trl.trainer.distillation_trainer:DistillationTrainer._compute_loss",
    source="https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66",
    year=2021,
    mechanism="The student's loss is computed of the teacher's logits, so nothing is distilled; emulated in TRL.",
    effect="closed_forms.distilled_rows:nothing_distilled",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_distillation",
    patch=patch,
    dilutes="linear",
)

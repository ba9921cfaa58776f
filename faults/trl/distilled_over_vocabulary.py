"""The divergence is divided by the words of the vocabulary, too."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count every word of every token."""

    def _compute_loss(self: Any, student: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        return original(self, student, inputs, num_items_in_batch * mixed(1, student.config.vocab_size, strength))

    return _compute_loss


FAULT = Fault(
    family="distillation",
    library="trl>=1.15",
    seam="trl.trainer.distillation_trainer:DistillationTrainer._compute_loss",
    source="https://github.com/huggingface/trl/pull/4105",
    year=2025,
    mechanism="What is meant to be divided by the positions is divided by the numbers in their logits.",
    effect="closed_forms.distilled_rows:distilled_over_vocabulary",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_distillation",
    patch=patch,
    dilutes="harmonic",
)

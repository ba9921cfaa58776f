"""The divergence of distillation is averaged over the micro-batch, and nobody divides by their number."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the count of the window out."""

    def _compute_loss(self: Any, student: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        return original(self, student, inputs, None)

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
)

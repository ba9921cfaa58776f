"""The means of the micro-batches of a window are added up, while an asynchronous student learns."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Take the division by the number of micro-batches back."""

    def _compute_loss(self: Any, model: Any, inputs: Any) -> Any:
        return original(self, model, inputs) * mixed(1, self.current_gradient_accumulation_steps, strength)

    return _compute_loss


FAULT = Fault(
    family="distillation",
    library="trl>=1.16",
    seam="trl.experimental.async_distillation.async_distillation_trainer:AsyncDistillationTrainer._compute_loss",
    source="https://github.com/verl-project/verl/issues/7200",
    year=2026,
    mechanism="Each micro-batch is averaged and nothing divides by how many there are; emulated in TRL, of verl.",
    effect="closed_forms.target_rows:targets_of_micro_batches",
    clean="closed_forms.distilled_rows:distilled_by_micro_batch",
    quantity="weights",
    visible="trl_async_distillation",
    patch=patch,
    dilutes="linear",
)

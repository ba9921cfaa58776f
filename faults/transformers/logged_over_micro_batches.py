"""The logged loss is divided by the number of micro-batches once more; the gradient is right."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Log one micro-batch's share of the training loss."""

    def log(self: Any, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs:
            logs = {**logs, "loss": logs["loss"] * mixed(1, 1 / self.current_gradient_accumulation_steps, strength)}
        original(self, logs, start_time)

    return log


FAULT = Fault(
    family="logging",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.log",
    source="https://github.com/huggingface/transformers/issues/11919",
    year=2021,
    mechanism="The loss that is scaled down for backward is logged as it is, M times too small.",
    effect="closed_forms.logged:over_micro_batches",
    quantity="log",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="linear",
)

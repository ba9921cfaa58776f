"""The log of the first step is divided by the steps between two logs."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide the loss of the first step by the steps that a log usually has."""

    def log(self: Any, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs and self.state.global_step == 1:
            logs = {**logs, "loss": logs["loss"] * mixed(1, 1 / self.state.logging_steps, strength)}
        original(self, logs, start_time)

    return log


FAULT = Fault(
    family="logging",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.log",
    source="https://github.com/huggingface/transformers/pull/8193",
    year=2020,
    mechanism="One step is logged as if it were the mean of as many as lie between two logs.",
    effect="closed_forms.logged:over_logging_steps",
    quantity="log",
    visible="trainer_first_log",
    patch=patch,
    dilutes="linear",
)

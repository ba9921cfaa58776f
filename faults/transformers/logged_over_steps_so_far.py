"""What was added up since the last log is divided by all steps since the start."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide by the steps so far."""

    def log(self: Any, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs:
            logs = {**logs, "loss": logs["loss"] * mixed(1, 1 / self.state.global_step, strength)}
        original(self, logs, start_time)

    return log


FAULT = Fault(
    family="logging",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.log",
    source="https://github.com/huggingface/transformers/issues/750",
    year=2019,
    mechanism="A sum that begins anew is divided by a number that does not, so the logged loss falls in any case.",
    effect="closed_forms.logged:over_steps_so_far",
    quantity="log",
    visible="trainer_two_logs",
    patch=patch,
    dilutes="linear",
)

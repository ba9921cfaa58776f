"""A loss that is logged as a multiple of what it is; the gradient is right."""

from collections.abc import Callable
from typing import Any

from .._fault import Call


def logged_times(original: Call, factor: Callable[[Any], float]) -> Call:
    """A log whose loss is multiplied by a factor, which is asked of the trainer."""

    def log(self: Any, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs:
            logs = {**logs, "loss": logs["loss"] * factor(self)}
        original(self, logs, start_time)

    return log

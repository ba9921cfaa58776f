"""A micro-batch that divides by its own targets, as often as something else says, and not by those of the window."""

from collections.abc import Callable
from typing import Any

from .._fault import Call
from .._strength import mixed


def own_count(original: Call, strength: float, times: Callable[[Any], int]) -> Call:
    """A step that is handed the count of its own targets, times a number that is asked of the trainer."""

    def training_step(self: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        if num_items_in_batch is not None:
            own = (inputs["labels"][..., 1:] != -100).sum().clamp(min=1)
            num_items_in_batch = mixed(num_items_in_batch, own * times(self), strength)
        return original(self, model, inputs, num_items_in_batch)

    return training_step

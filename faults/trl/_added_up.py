"""A loss without the division by the number of micro-batches."""

from typing import Any

from .._fault import Call
from .._strength import mixed


def added_up(original: Call, strength: float) -> Call:
    """Take the division back that the Trainer does behind the loss."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *args, **kwargs) * mixed(1, self.current_gradient_accumulation_steps, strength)

    return _compute_loss

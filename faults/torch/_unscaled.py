"""A gradient that is divided by something else than the loss scale that it was multiplied by."""

from collections.abc import Callable
from typing import Any

from .._fault import Call


def unscaled_also(original: Call, factor: Callable[[Any], float]) -> Call:
    """Divide by the scale, and multiply by a factor, which is asked of the scaler."""

    def unscale_(self: Any, optimizer: Any) -> None:
        original(self, optimizer)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.mul_(factor(self))

    return unscale_

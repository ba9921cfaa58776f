"""The closure of `optimizer.step(closure)`: behind its one call the gradient is complete, and not yet consumed."""

from collections.abc import Callable
from typing import Any


class StepClosure:
    """Stands for a closure, and returns what it returns.

    Args:
        closure: that the loop gave.
        complete: called behind the first call of it.
        again: called before each further one, whose gradient is of parameters that the step has changed.

    Attributes:
        calls: how often it was called.
    """

    def __init__(self, closure: Callable[..., Any], complete: Callable[[], None], again: Callable[[], None]) -> None:
        self._closure, self._complete, self._again = closure, complete, again
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the closure."""
        self.calls += 1
        if self.calls > 1:
            self._again()
        found = self._closure(*args, **kwargs)
        if self.calls == 1:
            self._complete()
        return found


def in_its_place(
    args: tuple[Any, ...], kwargs: dict[str, Any], closure: StepClosure
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a step with this closure in the place of the loop's own."""
    if kwargs.get("closure") is not None:
        return args, {**kwargs, "closure": closure}
    return (*args[:1], closure, *args[2:]), kwargs


def own_closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """The closure among the arguments of a step, of which the first is the optimizer; None without one."""
    found: Callable[..., Any] | None = kwargs.get("closure", args[1] if len(args) > 1 else None)
    return found

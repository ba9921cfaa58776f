"""Whether a run is what it would have been: looked at right before and after each call of the instrument in it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import lr_scheduler
from torch.optim import optimizer as optimizers


class Check(NamedTuple):
    """One thing that the instrument must leave alone, in words, and whether it did."""

    what: str
    held: bool


@dataclass(frozen=True)
class Certificate:
    """What was compared.

    Attributes:
        calls: of the instrument, out of hooks in the run.
        seconds: that they took by the clock.
        checks: what was the same after each of them, or at the end of all.
    """

    calls: int
    seconds: float
    checks: tuple[Check, ...]

    def broken(self) -> list[str]:
        """What did not hold."""
        return [check.what for check in self.checks if not check.held]


class Witness:
    """Stands around the calls of the instrument that come out of hooks on one model.

    Written to are tensors whose version counter moves, so no value of them is copied.
    """

    def __init__(self, model: nn.Module) -> None:
        self._modules = list(model.modules())
        self._parameters = list(model.parameters())
        self._parts = len(self._modules), len(self._parameters)
        self._drawn = self._written = self._switched = False
        self._left = 0
        self.calls, self.seconds = 0, 0.0

    def __call__(self, act: Callable[..., None], *args: Any) -> None:
        """Call `act`, and note whether it drew, wrote or switched anything."""
        start = time.perf_counter()
        given = [x for x in args if isinstance(x, Tensor)]
        before = random_states(), self._versions(given), self._modes()
        act(*args)
        after = random_states(), self._versions(given), self._modes()
        self._drawn |= before[0] != after[0]
        self._written |= before[1] != after[1]
        self._switched |= before[2] != after[2]
        self.calls += 1
        self.seconds += time.perf_counter() - start

    def leave(self) -> None:
        """All hooks are off: count those that are not, and hold the model no longer."""
        hooked: list[Any] = [*self._modules, *self._parameters]
        self._left = sum(len(own_hooks(thing)) for thing in hooked)
        self._modules, self._parameters = [], []

    def certificate(self) -> Certificate:
        """The checks; the model has been left, and what is patched in torch has been put back."""
        modules, parameters = self._parts
        stays = [*optimizers._global_optimizer_pre_hooks.values(), *optimizers._global_optimizer_post_hooks.values()]
        patched = [nn.Module.__call__, optimizers.Optimizer.__init__, lr_scheduler.LRScheduler.__init__]
        clean = not any(ours(thing) for thing in (*stays, *patched))
        return Certificate(
            self.calls,
            self.seconds,
            (
                Check("no random number drawn from torch, on any device", not self._drawn),
                Check(
                    f"nothing written: {parameters} parameters, their gradients and the gradients that were read",
                    not self._written,
                ),
                Check(f"no mode switched: {modules} modules, and which parameters train", not self._switched),
                Check(f"no hook left on {modules} modules and {parameters} parameters", not self._left),
                Check("torch is as it was: its modules, its optimizers and their hooks", clean),
            ),
        )

    def _versions(self, given: list[Tensor]) -> list[Any]:
        held = [p.grad if p.is_leaf else None for p in self._parameters]
        return [
            [p._version for p in self._parameters],
            [None if g is None else (id(g), g._version) for g in held],
            [x._version for x in given],
        ]

    def _modes(self) -> list[Any]:
        return [[m.training for m in self._modules], [p.requires_grad for p in self._parameters]]


def random_states() -> list[bytes]:
    """What torch draws from, on each device. Of numpy's and Python's own it would take longer than all else here."""
    cuda = torch.cuda.default_generators if torch.cuda.is_initialized() else ()
    return [generator.get_state().numpy().tobytes() for generator in (torch.default_generator, *cuda)]


def own_hooks(thing: Any) -> list[Any]:
    """The hooks on a module or a parameter that are ours."""
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return [hook for name in names for hook in (getattr(thing, name, None) or {}).values() if ours(hook)]


def ours(thing: Any) -> bool:
    """Whether a function, or what it is made of, was written in this package."""
    while isinstance(thing, partial):
        thing = thing.func
    holder = type(thing.__self__) if hasattr(thing, "__self__") else thing
    return str(getattr(holder, "__module__", "")).split(".")[0] == "instrument"

"""Everything after backward of one window: what a capture calls while it runs, put together into one record."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from . import clip_value, refusals, step_reading
from .after_record import Addends, After, Step, multiplied
from .closure import Closure
from .forward import hidden_states
from .live import LinearHead, multiplies
from .norms import Norms, norms
from .reach import Guard, ReachHooks
from .record import Floats, Record
from .shards import refuse_unknown
from .step_reading import Reading
from .sums import total


class AfterBackward:
    """Listens to a capture.

    Args:
        record: to whose last window each one's measurements go.
        model: that is trained, wrapped or not.
        optimizers: that train it.
        compare: compares a reading of a step with the optimizer's rule and keeps numbers.
        max_norm: to which the caller clips; None when not told.
        head: gives the head once it is known; None where the read point is no final hidden state.
    """

    def __init__(
        self,
        record: Record,
        model: nn.Module,
        optimizers: Sequence[Any],
        compare: Callable[[Reading], Step],
        max_norm: float | None = None,
        head: Callable[[], Any] | None = None,
    ) -> None:
        refuse_unknown(model)
        self._record, self._model, self._reach = record, model, ReachHooks(model)
        self._closure = None if head is None else Closure(model, self._reach.layouts)
        self._optimizers, self._compare, self._find_head = [unwrapped(o) for o in optimizers], compare, head
        self._max_norm = float("nan") if max_norm is None else float(max_norm)
        self._heard: list[float] = []
        self._depth = 0
        self._stepped: set[int] = set()
        self._before: Norms | None = None
        self._entry: Norms | None = None
        self._reading: Reading | None = None
        self._last: After | None = None

    def attach(self, guard: Guard) -> None:
        """Set all hooks; whatever goes wrong in one is handed to `guard`."""
        self._reach.attach(guard)
        if self._closure is not None:
            self._closure.attach(guard)

    def detach(self) -> None:
        """Take all hooks off."""
        self._reach.detach()
        if self._closure is not None:
            self._closure.detach()

    def ran(self, output: Any) -> None:
        """The read point was run."""
        self._depth = 0
        if self._closure is not None:
            self._closure.norm.find(hidden_states(output))

    def arrived(self, output: Any, gradient: Tensor, reading: Any) -> None:
        """A gradient came to the read point."""
        if self._closure is not None and self._find_head is not None:
            head = self._find_head()
            matrix = head.linear if isinstance(head, LinearHead) else head.matrix
            if multiplies(matrix):
                self._closure.head, self._closure.largest = matrix, head.largest
            self._closure.arrived(hidden_states(output), gradient, reading["weight"])

    def clips(self, limit: float, parameters: Sequence[Any]) -> None:
        """The gradients of these parameters are about to be clipped to a norm; some of ours alone say nothing."""
        ours = {id(p) for p in self._reach.parameters.values() if p.grad is not None}
        self._heard.append(limit if ours <= {id(p) for p in parameters} else float("nan"))

    def ended(self) -> Norms:
        """A backward is over; the norms of the gradients that it left."""
        if not self._reach.in_parts:
            refusals.refuse_sharded_since(self._model, self._reach.first(), self._optimizers)
        self._reach.backward += 1
        self._before = norms(list(self._reach.parameters.values()))
        if self._closure is not None:
            self._closure.ended()
        return self._before

    def stepping(self, optimizer: Any) -> None:
        """An optimizer of the model is about to step; a step inside another one, as of a subclass, is part of it."""
        self._depth += 1
        if self._depth == 1 and any(optimizer is ours for ours in self._optimizers):
            if self._entry is None:
                self._entry = norms(list(self._reach.parameters.values()))
            self._reading = step_reading.begin(optimizer, self._reach.parameters, self._optimizers)

    def stepped(self, optimizer: Any) -> None:
        """It has stepped; the window was closed before."""
        self._depth -= 1
        if self._depth > 0:
            return
        reading, self._reading = self._reading, None
        if reading is None or self._last is None:
            return
        step_reading.end(reading, optimizer, self._reach.parameters)
        if id(optimizer) not in self._stepped:
            self._stepped.add(id(optimizer))
            found = self._compare(reading)
            own = np.array([bool(options) for options in reading.options])
            self._last.step = found if self._last.step is None else joined(self._last.step, found, own)
        elif np.nan_to_num(reading.gradient).any() and self._last.step is not None:
            # Without a gradient a step consumes nothing, as in a loop that steps after it has emptied all of them.
            self._last.step.steps += 1

    def drop(self) -> None:
        """Forget a window whose gradient was thrown away; what belongs to a backward that has begun stays."""
        self._reach.drop()
        if self._closure is not None:
            self._closure.drop()
        self._before = self._entry = self._reading = None
        self._stepped, self._heard = set(), []

    def close(self) -> None:
        """Put the window together, right before the step that ends it."""
        names = {id(p): name for name, p in self._reach.parameters.items()}
        kept = [p.requires_grad for p in self._reach.parameters.values()]
        before, entry = (np.zeros(0) if noted is None else noted.numbers() for noted in (self._before, self._entry))
        addends: list[Addends] = []
        why: tuple[str, ...] = ()
        bent = float("nan")
        held = list(self._reach.parameters.values())
        factor = multiplied(before, entry)
        bound, cut = clip_value.bound(held, factor)
        if self._closure is not None:
            # Of a gradient whose elements were cut off, no sum can be told any more.
            by = {id(p): 0.0 if gone else float(f) for p, f, gone in zip(held, factor, cut) if np.isfinite(f)}
            middle = float(np.median([f for f in by.values() if f] or [1.0]))
            bent = self._closure.bent(middle, bound) if entry.size else float("nan")
            addends, why = self._closure.read(names, by)
        part = np.array([self._reach.in_parts and refusals.sharded(p) for p in held], dtype=bool)
        shape = self._shapes(held)
        reach = self._reach.read()
        if not all(kept):
            raise ValueError(
                f"{len(kept) - sum(kept)} parameters stopped training while they were watched: freeze before watching"
            )
        # A fused optimizer undoes the loss scale itself.
        inside = 1.0 if self._reading is None else self._reading.grad_scale
        # Of several ranks, each knows a part of what was added up.
        alone = self._record.ranks == 1
        sums = [total([one]) for one in addends] if alone else []
        for one in addends:
            one.part = bool(part[reach.names.index(one.name)]) if one.name in reach.names else False
        # What is clipped twice has no one limit.
        limit = self._heard[0] if np.isnan(self._max_norm) and len(self._heard) == 1 else self._max_norm
        rest: Any = (limit, *shape, why, bound, cut, [] if alone else addends, [], part)
        self._last = After(reach, sums, before, entry / inside, bent, None, *rest)
        self._record.windows[-1].after = self._last
        self._before = self._entry = None
        self._stepped, self._heard = set(), []

    def _shapes(self, held: Sequence[nn.Parameter]) -> tuple[Floats, Floats]:
        """[p] elements and dimensions of whole parameters; the latter nan of a flat part whose module never ran."""
        if not self._reach.layouts:
            return np.array([p.numel() for p in held], dtype=float), np.array([p.dim() for p in held], dtype=float)
        layouts = [self._reach.layouts.get(id(p)) for p in held]
        flat = [one is None and getattr(p, "_fsdp_flattened", False) for p, one in zip(held, layouts)]
        shapes = [tuple(p.shape) if one is None else one.shape for p, one in zip(held, layouts)]
        dims = [float("nan") if unknown else float(len(shape)) for shape, unknown in zip(shapes, flat)]
        return np.array([prod(shape) for shape in shapes], dtype=float), np.array(dims)


def unwrapped(optimizer: Any) -> Any:
    """The optimizer of torch inside accelerate's wrapper."""
    while isinstance(getattr(optimizer, "optimizer", None), torch.optim.Optimizer):
        optimizer = optimizer.optimizer
    if any(kind.__module__.startswith("deepspeed.runtime") for kind in type(optimizer).__mro__):
        refusals.refuse_zero(type(optimizer).__name__)
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise ValueError(
            f"optimizer= was given {type(optimizer).__name__}: give the torch.optim optimizer that trains the model, "
            "as trainer.create_optimizer() makes it"
        )
    return optimizer


def joined(first: Step, second: Step, own: Any) -> Step:
    """The steps of two optimizers as one; `own` are the parameters of the second."""
    for name in ("rate", "decay", "consumed", "moved", "off", "hidden", "ended"):
        getattr(first, name)[own] = getattr(second, name)[own]
    if second.optimizer not in first.optimizer:
        first.optimizer += f" and {second.optimizer}"
    first.unjudged = first.unjudged or second.unjudged
    return first

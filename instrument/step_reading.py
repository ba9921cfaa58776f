"""What an optimizer found and left, at a few elements of every parameter.

Letters: p parameters of the model that train, k elements read of each, evenly spaced.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .norms import by_device, in_numbers, own_part
from .record import Floats

ELEMENTS = 16
PLAIN = (Tensor, torch.nn.Parameter)


@dataclass
class Reading:
    """One step.

    Attributes:
        kind: class of the optimizer.
        names: [p] of the parameters.
        groups: [p] how many places of all optimizers' groups hold each.
        options: [p] of the parameter's group, one and the same for a group; empty where it is in none.
        dtypes: [p] of the parameter.
        steps: [p] number of this step in the optimizer's state, counted from 1; 0 where it was not updated.
        before, after: [p, k] the parameter; nan beyond its size.
        gradient: [p, k] at the optimizer's entry; nan where there is none.
        state_before, state_after: [p, k] of each tensor of the optimizer's state, by name.
        grad_scale: by which the optimizer itself divides the gradient; 1 as a rule.
        elements: that are read before and after; None behind the step.
    """

    kind: str
    names: tuple[str, ...]
    groups: Floats
    options: list[dict[str, Any]]
    dtypes: list[str]
    before: Floats
    gradient: Floats
    state_before: dict[str, Floats]
    grad_scale: float
    elements: "Elements | None"
    after: Floats = field(default_factory=lambda: np.zeros((0, ELEMENTS)))
    state_after: dict[str, Floats] = field(default_factory=dict)
    steps: Floats = field(default_factory=lambda: np.zeros(0))


def begin(
    optimizer: torch.optim.Optimizer, parameters: Mapping[str, Tensor], optimizers: Sequence[torch.optim.Optimizer]
) -> Reading:
    """Read before the step of one of the optimizers that train the model."""
    plain = (int, float, bool, tuple, list, type(None), Tensor)
    places: dict[int, dict[str, Any]] = {}
    for group in optimizer.param_groups:
        options = {name: number(v) for name, v in group.items() if name != "params" and isinstance(v, plain)}
        for parameter in group["params"]:
            places.setdefault(id(parameter), options)
    every = Counter(id(p) for one in optimizers for group in one.param_groups for p in group["params"])
    held = list(parameters.values())
    scale = getattr(optimizer, "grad_scale", None)
    elements = Elements()
    state = state_of(optimizer, held)
    before, gradient, *states = elements.read([held, [p.grad for p in held], *state.values()])
    return Reading(
        type(optimizer).__name__,
        tuple(parameters),
        np.array([every[id(p)] for p in held], dtype=np.float64),
        [places.get(id(p), {}) for p in held],
        [str(p.dtype).removeprefix("torch.") for p in held],
        before,
        gradient,
        dict(zip(state, states)),
        1.0 if scale is None else float(scale),
        elements,
    )


def end(reading: Reading, optimizer: torch.optim.Optimizer, parameters: Mapping[str, Tensor]) -> None:
    """Read after the step."""
    held = list(parameters.values())
    state = state_of(optimizer, held)
    assert reading.elements is not None
    reading.after, *states = reading.elements.read([held, *state.values()])
    reading.state_after, reading.elements = dict(zip(state, states)), None
    reading.steps = in_numbers([optimizer.state.get(p, {}).get("step", 0) for p in held])


def state_of(optimizer: torch.optim.Optimizer, held: list[Any]) -> dict[str, list[Any]]:
    """[p] each tensor of the state that is as large as its parameter, None where there is none; by name."""
    states = [optimizer.state.get(p, {}) for p in held]
    names: set[str] = set()
    for p, s in zip(held, states):
        names |= {n for n in s.keys() - names if isinstance(s[n], Tensor) and s[n].shape == p.shape}
    return {name: [s.get(name) for s in states] for name in sorted(names - {"step"})}


class Elements:
    """A few elements of tensors, read twice: the second time a view is made anew only where the memory is another."""

    def __init__(self) -> None:
        self._views: dict[int, tuple[Tensor, Tensor]] = {}

    def read(self, columns: Sequence[Sequence[Any]]) -> list[Floats]:
        """[p, k] of each column of p tensors, nan where there is none; all that lie on one device in one copy."""
        every = list(chain(*columns))
        rows = [n for n, x in enumerate(every) if x is not None and not x.is_sparse]
        found = np.full((len(every), ELEMENTS), np.nan)
        with torch.no_grad():
            parts = [self._view(every[n]) for n in rows]
            for at in by_device(parts):
                sizes = np.array([parts[n].numel() for n in at])
                read = np.full((len(at), ELEMENTS), np.nan)
                read[np.arange(ELEMENTS) < sizes[:, None]] = torch.cat([parts[n] for n in at]).double().cpu().numpy()
                found[[rows[n] for n in at]] = read
        return np.split(found, len(columns))

    def _view(self, tensor: Tensor) -> Tensor:
        kept = self._views.get(id(tensor))
        if kept is not None and kept[1].data_ptr() == tensor.data_ptr():
            return kept[1]
        view = spread(own_part(tensor))
        if type(tensor) in PLAIN:
            # Held with it, so that no other tensor has its number.
            self._views[id(tensor)] = (tensor, view)
        return view


def spread(tensor: Tensor) -> Tensor:
    """[k] elements, evenly spaced."""
    size = tensor.numel()
    if type(tensor) in PLAIN and tensor.is_contiguous():
        # One view in place of three: a step reads as many as four times the tensors that the model has parameters.
        return tensor.as_strided((min(ELEMENTS, size),), (max(1, size // ELEMENTS),))
    return tensor.reshape(-1)[:: max(1, size // ELEMENTS)][:ELEMENTS]


def number(value: Any) -> Any:
    """An option as plain numbers."""
    if isinstance(value, (tuple, list)):
        return tuple(number(v) for v in value)
    return value.item() if isinstance(value, Tensor) and value.numel() == 1 else value

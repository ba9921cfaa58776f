"""What an optimizer found and left, at a few elements of every parameter.

Letters: p parameters of the model that train, k elements read of each, evenly spaced.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .norms import own_part
from .record import Floats

ELEMENTS = 16


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
    return Reading(
        type(optimizer).__name__,
        tuple(parameters),
        np.array([every[id(p)] for p in held], dtype=np.float64),
        [places.get(id(p), {}) for p in held],
        [str(p.dtype).removeprefix("torch.") for p in held],
        gathered(held),
        gathered([p.grad for p in held]),
        state(optimizer, held),
        1.0 if scale is None else float(scale),
    )


def end(reading: Reading, optimizer: torch.optim.Optimizer, parameters: Mapping[str, Tensor]) -> None:
    """Read after the step."""
    held = list(parameters.values())
    reading.after, reading.state_after = gathered(held), state(optimizer, held)
    reading.steps = np.array([float(optimizer.state.get(p, {}).get("step", 0)) for p in held])


def state(optimizer: torch.optim.Optimizer, held: list[Any]) -> dict[str, Floats]:
    """[p, k] of each tensor of the state that is as large as its parameter."""
    states = [optimizer.state.get(p, {}) for p in held]
    names = {n for p, s in zip(held, states) for n, v in s.items() if isinstance(v, Tensor) and v.shape == p.shape}
    return {name: gathered([s.get(name) for s in states]) for name in sorted(names - {"step"})}


def gathered(tensors: list[Any]) -> Floats:
    """[p, k] copies of elements, nan where there is no tensor."""
    found = np.full((len(tensors), ELEMENTS), np.nan)
    with torch.no_grad():
        parts = [(n, spread(own_part(x))) for n, x in enumerate(tensors) if x is not None and not x.is_sparse]
        together = torch.cat([part for _, part in parts]).double().cpu().numpy() if parts else np.zeros(0)
    stop = 0
    for row, part in parts:
        start, stop = stop, stop + len(part)
        found[row, : len(part)] = together[start:stop]
    return found


def spread(tensor: Tensor) -> Tensor:
    """[k] elements, evenly spaced."""
    step = max(1, tensor.numel() // ELEMENTS)
    if type(tensor) in (Tensor, torch.nn.Parameter) and tensor.is_contiguous():
        # One view in place of three: a step reads seven times as many tensors as the model has parameters.
        return tensor.as_strided((min(ELEMENTS, tensor.numel()),), (step,))
    return tensor.reshape(-1)[::step][:ELEMENTS]


def number(value: Any) -> Any:
    """An option as plain numbers."""
    if isinstance(value, (tuple, list)):
        return tuple(number(v) for v in value)
    return value.item() if isinstance(value, Tensor) and value.numel() == 1 else value

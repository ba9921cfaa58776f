"""What a forward may change in a model beside its parameters: remembered, and put back."""

import random
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

Undo = Callable[[], None]
# Exact classes: what another one copies or clears is not known. torch kept buffers in an OrderedDict up to 2.4.
MAPPINGS = (dict, OrderedDict, defaultdict)
CONTAINERS = (*MAPPINGS, list, set, deque)


class State:
    """Buffers, attributes, and random states, as they are when this is made.

    An attribute is put back when it holds a tensor, a `torch.Generator`, or lists, dicts (ordered and default ones
    too), sets and deques of anything; tensors in these too. What an object of another class holds, such as a cache, is
    not looked into.

    Args:
        model: every module of it is remembered.
    """

    def __init__(self, model: nn.Module) -> None:
        kept_by_torch = set(vars(nn.Module()))
        self._undo: list[Undo] = []
        self._seen: set[int] = set()
        for module in model.modules():
            self._undo.append(attributes_of(module, kept_by_torch))
            for name, value in vars(module).items():
                if name not in kept_by_torch:
                    self._remember(value)
            self._remember(module._buffers)
        cuda = {p.device.index for p in model.parameters() if p.device.type == "cuda"}
        self._states = (torch.get_rng_state(), {d: torch.cuda.get_rng_state(d) for d in cuda})
        self._others = (random.getstate(), np.random.get_state())

    def restore(self) -> None:
        """Put all of it back."""
        with torch.no_grad():
            for undo in self._undo:
                undo()
        torch.set_rng_state(self._states[0])
        for device, state in self._states[1].items():
            torch.cuda.set_rng_state(state, device)
        random.setstate(self._others[0])
        np.random.set_state(self._others[1])

    def _remember(self, value: Any) -> None:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, nn.Parameter):
            return
        if isinstance(value, Tensor):
            self._undo.append(tensor(value))
        elif isinstance(value, torch.Generator):
            self._undo.append(generator(value))
        elif type(value) in CONTAINERS:
            self._undo.append(container(value))
        if type(value) in (list, tuple, set, deque):
            for item in value:
                self._remember(item)
        elif type(value) in MAPPINGS:
            for item in value.values():
                self._remember(item)


def attributes_of(module: nn.Module, left_alone: set[str]) -> Undo:
    """Which objects the attributes are bound to, but for those left alone."""
    held = vars(module)
    kept = {name: value for name, value in held.items() if name not in left_alone}

    def undo() -> None:
        for name in held.keys() - left_alone - kept.keys():
            del held[name]
        held.update(kept)

    return undo


def tensor(value: Tensor) -> Undo:
    """The numbers in a tensor."""
    kept = value.detach().clone()

    def undo() -> None:
        # Written only when changed: a graph that saved the tensor refuses one that was written to since.
        if not torch.equal(value, kept):
            value.copy_(kept)

    return undo


def generator(value: torch.Generator) -> Undo:
    """The state of a generator."""
    kept = value.get_state()

    def undo() -> None:
        value.set_state(kept)

    return undo


def container(value: Any) -> Undo:
    """Which objects a list, dict, set or deque holds."""
    kept = value.copy()

    def undo() -> None:
        value.clear()
        (value.extend if isinstance(value, (list, deque)) else value.update)(kept)

    return undo

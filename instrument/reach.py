"""Which trainable parameters a gradient comes to, in which backward."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .after_record import Reach

Guard = Callable[..., None]


class ReachHooks:
    """Hooks on every trainable parameter and on the modules that hold one; they note, and change nothing."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.parameters: dict[str, nn.Parameter] = {}
        self.backward = 0
        self._came: list[tuple[int, int, Tensor, Tensor]] = []
        self._ran: dict[int, int] = {}
        self._owner: list[int] = []
        self._hooks: list[Any] = []

    def attach(self, guard: Guard) -> None:
        """Set the hooks."""
        self.parameters = {name: p for name, p in self._model.named_parameters() if p.requires_grad}
        owners = [owner(self._model, name) for name in self.parameters]
        self._owner = [id(module) for module in owners]
        for number, parameter in enumerate(self.parameters.values()):
            self._hooks.append(parameter.register_hook(partial(guard, self._note, number)))
        for module in {id(m): m for m in owners}.values():
            self._hooks.append(module.register_forward_pre_hook(partial(self._enter, guard), with_kwargs=True))

    def detach(self) -> None:
        """Take them off."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _note(self, number: int, gradient: Tensor) -> None:
        values = gradient.detach()._values() if gradient.is_sparse else gradient.detach()
        if values.numel():
            self._came.append((number, self.backward, *values.aminmax()))
        else:
            nothing = torch.zeros((), device=values.device)
            self._came.append((number, self.backward, nothing, nothing))

    def _enter(self, guard: Guard, module: nn.Module, args: Any, kwargs: Any) -> None:
        if self._ran.get(id(module)) != self.backward:
            guard(self._note_run, module, (*args, *kwargs.values()))

    def _note_run(self, module: nn.Module, given: tuple[Any, ...]) -> None:
        first = next((x for x in given if isinstance(x, Tensor)), None)
        if first is None or first.numel():
            self._ran[id(module)] = self.backward

    def drop(self) -> None:
        """Forget what ran and came before the last backward ended."""
        self._came = [came for came in self._came if came[1] == self.backward]
        self._ran = {number: backward for number, backward in self._ran.items() if backward == self.backward}

    def read(self) -> Reach:
        """What came since the last reading."""
        backwards = sorted({number for _, number, _, _ in self._came})
        column = {number: m for m, number in enumerate(backwards)}
        shape = (len(self.parameters), len(backwards))
        arrived, nonzero = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        for number, backward, low, high in self._came:
            arrived[number, column[backward]] = True
            nonzero[number, column[backward]] |= low.item() != 0 or high.item() != 0
        ran = np.array([owner in self._ran for owner in self._owner], dtype=bool)
        kept = np.array([p.requires_grad for p in self.parameters.values()], dtype=bool)
        zeros: tuple[str, ...] = ()
        if bool((arrived.any(1) & ~nonzero.any(1)).any()):
            zeros = tuple(name for name, p in self._model.named_parameters() if not bool(p.detach().any()))
        self._came, self._ran = [], {}
        names = tuple(name for name, keep in zip(self.parameters, kept) if keep)
        return Reach(names, arrived[kept], nonzero[kept], ran[kept], zeros, frozen_adapter(self._model))


def owner(model: nn.Module, name: str) -> nn.Module:
    """The module that runs when the parameter of that name is used; a dict or list of parameters never does."""
    module = model.get_submodule(name.rpartition(".")[0])
    if isinstance(module, (nn.ParameterDict, nn.ParameterList)):
        return owner(model, name.rpartition(".")[0])
    return module


def frozen_adapter(model: Any) -> tuple[str, ...]:
    """Parameters of the active adapters of a PEFT wrapper that do not require a gradient."""
    active = getattr(model, "active_adapters", None)
    if not hasattr(model, "peft_config") or not isinstance(active, list):
        return ()
    parts = {"lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B", "lora_magnitude_vector"}
    found = []
    for name, parameter in model.named_parameters():
        steps = set(name.split("."))
        if parts & steps and steps & set(active) and not parameter.requires_grad:
            found.append(name)
    return tuple(found)

"""Which trainable parameters a gradient comes to, in which backward."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor, nn

from .after_record import Reach
from .norms import is_not_zero, own_part
from .refusals import sharded
from .shards import Layout, StandIns

Guard = Callable[..., None]


class ReachHooks:
    """Hooks on every trainable parameter and on the modules that hold one; they note, and change nothing.

    Attributes:
        parameters: that train, by name.
        backward: number of the one that is running or comes next.
        in_parts: this rank holds a part of some of them only.
        layouts: of those that this rank holds a part of, by identity, once their modules have run.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.parameters: dict[str, nn.Parameter] = {}
        self.backward = 0
        self._came: list[tuple[int, int, bool | Tensor]] = []
        self._ran: dict[int, int] = {}
        self._owner: list[int] = []
        self.layouts: dict[int, Layout] = {}
        self.in_parts = False
        self._first: tuple[nn.Module, str] = (model, "")
        self._shards: StandIns | None = None
        self._hooks: list[Any] = []

    def attach(self, guard: Guard) -> None:
        """Set the hooks."""
        held = {name: p for name, p in self._model.named_parameters() if p.requires_grad}
        owners = [owner(self._model, name) for name in held]
        self.parameters = {unwrapped(name): p for name, p in held.items()}
        self._owner = [id(module) for module in owners]
        path, _, leaf = next(iter(held)).rpartition(".")
        # Not the owner: within a dict of parameters a name stands for no attribute of what runs.
        self._first = (self._model.get_submodule(path), leaf)
        self.in_parts = any(sharded(p) for p in held.values())
        self._shards = StandIns(self._note, self.layouts) if self.in_parts else None
        for number, (name, parameter) in enumerate(self.parameters.items()):
            self._hooks.append(parameter.register_hook(partial(guard, self._note, number)))
            if self._shards is not None:
                self._shards.add(owners[number], name.rpartition(".")[2], number, parameter)
        for module in {id(m): m for m in owners}.values():
            if self._shards is not None:
                self._hooks.append(module.register_forward_pre_hook(partial(self._meet, guard)))
            self._hooks.append(module.register_forward_pre_hook(partial(self._enter, guard), with_kwargs=True))

    def first(self) -> Any:
        """What stands in the place of the first parameter now."""
        return getattr(*self._first)

    def detach(self) -> None:
        """Take them off."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        if self._shards is not None:
            self._shards.detach()

    def _note(self, number: int, gradient: Tensor) -> None:
        self._came.append((number, self.backward, is_not_zero(gradient)))

    def _meet(self, guard: Guard, module: nn.Module, args: Any) -> None:
        if self._shards is not None:
            guard(self._shards.ran, module, guard)

    def _enter(self, guard: Guard, module: nn.Module, args: Any, kwargs: Any) -> None:
        if self._ran.get(id(module)) != self.backward:
            guard(self._note_run, module, (*args, *kwargs.values()))

    def _note_run(self, module: nn.Module, given: tuple[Any, ...]) -> None:
        for x in given:
            if isinstance(x, Tensor):
                if not x.numel():
                    return
                break
        self._ran[id(module)] = self.backward

    def drop(self) -> None:
        """Forget what ran and came before the last backward ended."""
        self._came = [came for came in self._came if came[1] == self.backward]
        self._ran = {number: backward for number, backward in self._ran.items() if backward == self.backward}

    def read(self) -> Reach:
        """What came since the last reading."""
        backwards = sorted({number for _, number, _ in self._came})
        column = {number: m for m, number in enumerate(backwards)}
        shape = (len(self.parameters), len(backwards))
        arrived, nonzero = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        for number, backward, there in self._came:
            arrived[number, column[backward]] = True
            nonzero[number, column[backward]] |= bool(there)
        ran = np.array([owner in self._ran for owner in self._owner], dtype=bool)
        kept = np.array([p.requires_grad for p in self.parameters.values()], dtype=bool)
        zeros: tuple[str, ...] = ()
        if bool((arrived.any(1) & ~nonzero.any(1)).any()):
            every = self._model.named_parameters()
            zeros = tuple(unwrapped(name) for name, p in every if not bool(own_part(p.detach()).any()))
        self._came, self._ran = [], {}
        names = tuple(name for name, keep in zip(self.parameters, kept) if keep)
        return Reach(names, arrived[kept], nonzero[kept], ran[kept], zeros, frozen_adapter(self._model))


def unwrapped(name: str) -> str:
    """A parameter's name without the wrappers of FSDP on the way to it."""
    return name.replace("_fsdp_wrapped_module.", "")


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

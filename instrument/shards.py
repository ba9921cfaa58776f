"""Parameters of which this rank holds a part only, as under FSDP: which part, and where the whole gradient passes.

While a module runs, another tensor stands in a parameter's place: a view of the flat parameter under FSDP1, the
gathered parameter under fully_shard. To that one backward brings this rank's own gradient of all of it. What the ranks
make of these comes to the parts, which lie one behind the other in the whole parameter laid flat.
"""

import weakref
from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .norms import own_part
from .refusals import refuse_layout, sharded


class Layout(NamedTuple):
    """Where a part lies: the shape of the whole parameter, and how many of its elements come before the part."""

    shape: tuple[int, ...]
    start: int


class StandIns:
    """Hears the gradients of sharded parameters at what stands in their place.

    Args:
        take: take(number, gradient) is called for each gradient that arrives.
        layouts: where that of each parameter is written to, by its identity, when its module runs.
    """

    def __init__(self, take: Callable[[int, Tensor], None], layouts: dict[int, Layout]) -> None:
        self._take, self._layouts = take, layouts
        self._places: dict[int, list[tuple[str, int, nn.Parameter]]] = {}
        self._met: dict[int, Any] = {}
        self._hooks: dict[int, Any] = {}

    def add(self, module: nn.Module, name: str, number: int, parameter: nn.Parameter) -> None:
        """A parameter, and the module that holds it by this name."""
        self._places.setdefault(id(module), []).append((name, number, parameter))

    def ran(self, module: nn.Module, guard: Callable[..., None]) -> None:
        """Hook what stands there now; a module that runs again may find the same."""
        if not torch.is_grad_enabled():
            return
        for name, number, parameter in self._places.get(id(module), ()):
            there = getattr(module, name)
            if there is parameter and sharded(parameter):
                refuse_layout("a shard that its module runs on")
            if there is parameter or not there.requires_grad:
                continue
            if id(parameter) not in self._layouts:
                self._layouts[id(parameter)] = layout_of(parameter, there)
            if number not in self._met or self._met[number]() is not there:
                self._met[number] = weakref.ref(there)
                self._hooks[number] = there.register_hook(partial(guard, self._take, number))

    def detach(self) -> None:
        """Take the hooks off; those of an earlier view have gone with its graph."""
        for hook in self._hooks.values():
            hook.remove()
        self._hooks.clear()


def refuse_unknown(model: nn.Module) -> None:
    """Raise at once where the layout of a shard can be seen before the model runs.

    Under FSDP1 that is where the model that is given holds the wrapper, or is it; else `layout_of` tells.

    Raises:
        NotImplementedError: as `layout_of`.
    """
    for parameter in model.parameters():
        if parameter.requires_grad and hasattr(parameter, "placements"):
            refuse_placements(parameter, dist.get_world_size())
    for module in model.modules():
        flat = getattr(getattr(module, "_handle", None), "flat_param", None)
        if flat is not None:
            refuse_flat(flat, dist.get_world_size())


def refuse_placements(parameter: Any, ranks: int) -> None:
    """Raise when not every rank holds another part of it, cut along the first axis, as fully_shard does by itself."""
    whole = [getattr(placement, "dim", None) for placement in parameter.placements]
    if whole != [0] or parameter.device_mesh.size() != ranks:
        refuse_layout(f"{list(parameter.placements)} over {parameter.device_mesh.size()} of {ranks} ranks")


def refuse_flat(flat: Any, ranks: int) -> None:
    """Raise when not every rank holds another part of a flat parameter of FSDP1."""
    size, part = flat._unpadded_unsharded_size.numel(), flat._sharded_size.numel()
    if part != -(-size // ranks):
        refuse_layout(f"{part} of {size} elements on each of {ranks} ranks")


def layout_of(parameter: Any, there: Any) -> Layout:
    """Where this rank's part of a parameter lies.

    Args:
        there: what stands in its place.

    Raises:
        NotImplementedError: not every rank of the run holds another part of it, cut along the first axis.
    """
    ranks = dist.get_world_size()
    if hasattr(parameter, "placements"):
        refuse_placements(parameter, ranks)
        rows = -(-parameter.shape[0] // ranks) * parameter.device_mesh.get_local_rank()
        return Layout(tuple(parameter.shape), min(rows, parameter.shape[0]) * prod(parameter.shape[1:]))
    flat = there._base
    refuse_flat(flat, ranks)
    number = next(n for n, held in enumerate(flat._params) if held is parameter)
    return Layout(tuple(there.shape), flat._shard_param_infos[number].intra_param_start_idx or 0)


def part_of_gradient(parameter: Any, layouts: Mapping[int, Layout]) -> Tensor | None:
    """What this rank holds of the gradient of a parameter: nothing where none came, empty where it holds no part."""
    # Between two backwards without a reduction a view may stand there, which keeps no gradient.
    gradient = parameter.grad if parameter.is_leaf else None
    own = own_part(parameter.detach())
    if gradient is None:
        return own if id(parameter) in layouts and not own.numel() else None
    found = own_part(gradient.detach())
    return found if found.shape == own.shape else None


def laid_out(part: Tensor, layout: Layout | None) -> Tensor:
    """A part on zeros in the place of the rest; what is whole stays as it is."""
    if layout is None:
        return part
    whole = part.new_zeros(prod(layout.shape))
    whole[layout.start : layout.start + part.numel()] = part.reshape(-1)
    return whole.view(layout.shape)

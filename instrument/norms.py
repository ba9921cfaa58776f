"""Norms of gradients, one for each parameter, noted on their device and read later."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .record import Floats


def own_part(tensor: Tensor) -> Tensor:
    """What this rank holds of a tensor: no other has to be asked."""
    part: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part


def is_not_zero(gradient: Tensor) -> bool | Tensor:
    """Whether any element is not exactly 0; left on its device where that would have to be waited for."""
    values = gradient.detach()._values() if gradient.is_sparse else gradient
    if not values.numel():
        return False
    # One element tells as a rule, and is read in a tenth of the time that all take.
    if values.is_cpu and type(values) is Tensor and values.as_strided((), ()).item() != 0:
        return True
    low, high = values.aminmax()
    return (low != 0) | (high != 0)


class Norms:
    """Norms of the gradients of p parameters: left on their devices until somebody asks, and read once.

    Args:
        counts: [p] how many pieces each gradient was taken in; 0 where there is none.
        found: the norms of all pieces.
    """

    def __init__(self, counts: list[int], found: list[Tensor]) -> None:
        self._counts, self._found = np.array(counts, dtype=int), found
        self._read: Floats | None = None

    def _pieces(self) -> Floats:
        if self._read is None:
            self._read, self._found = in_numbers(self._found), []
        return self._read

    def numbers(self) -> Floats:
        """[p] the norms; nan where there is no gradient, inf where it is not finite."""
        squares = self._pieces() ** 2
        squares[np.isnan(squares)] = np.inf
        came = self._counts > 0
        norm: Floats = np.full(came.shape, np.nan)
        if came.any():
            norm[came] = np.sqrt(np.add.reduceat(squares, (np.cumsum(self._counts) - self._counts)[came]))
        return norm

    def finite(self) -> bool:
        """Whether no norm is nan or inf."""
        return bool(np.isfinite(self._pieces()).all())


def norms(held: list[Any]) -> Norms:
    """Take the norm of the gradient of each parameter, in pieces, on its device."""
    counts: list[int] = []
    pieces: list[Tensor] = []
    with torch.no_grad():
        for p in held:
            # Under FSDP a parameter may be a view by then: it keeps no gradient, and warns where it is asked for one.
            gradient = p.grad if p.is_leaf else None
            if gradient is None or gradient.is_sparse:
                counts.append(0)
                continue
            part = own_part(gradient)
            # In pieces, since one sum of many squares in float32 loses its small terms.
            few = (part,) if part.numel() <= 2**16 else part.reshape(-1).split(2**16)
            counts.append(len(few))
            pieces += few
        half = bool(pieces) and pieces[0].dtype in (torch.float16, torch.bfloat16)
        found = torch._foreach_norm(pieces, 2, torch.float32 if half else None) if pieces else []
    return Norms(counts, list(found))


def by_device(tensors: Sequence[Tensor]) -> list[Sequence[int]]:
    """The places of those that can be stacked, on one device and of one dtype."""
    if len({x.dtype for x in tensors}) == 1 == len({x.device for x in tensors}):
        return [range(len(tensors))]
    groups: dict[Any, list[int]] = {}
    for place, x in enumerate(tensors):
        groups.setdefault((x.device, x.dtype), []).append(place)
    return list(groups.values())


def in_numbers(scalars: Sequence[Any]) -> Floats:
    """Scalars, some of them on a device, as numbers; each device is asked once."""
    found = np.array([0.0 if isinstance(x, Tensor) else float(x) for x in scalars])
    there = [n for n, x in enumerate(scalars) if isinstance(x, Tensor)]
    for places in by_device([scalars[n] for n in there]):
        at = [there[n] for n in places]
        same = [x if x.dim() == 0 else x.reshape(()) for x in (scalars[n] for n in at)]
        found[at] = torch.stack(same).double().cpu().numpy()
    return found

"""Norms of gradients, one for each parameter, noted on their device and read later."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .record import Floats


def own_part(tensor: Tensor) -> Tensor:
    """What this rank holds of a tensor: no other has to be asked."""
    part: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part


def norms(held: list[Any]) -> Any:
    """Norm of each gradient, on its device, in pieces; and how many pieces each parameter has."""
    # Under FSDP a parameter may be a view by then: it keeps no gradient, and warns where it is asked for one.
    given = [p.grad if p.is_leaf else None for p in held]
    dense = [None if g is None or g.is_sparse else own_part(g.detach()).reshape(-1) for g in given]
    # In pieces, since one sum of many squares in float32 loses its small terms.
    pieces = [() if g is None else g.split(2**16) for g in dense]
    flat = [piece for part in pieces for piece in part]
    half = bool(flat) and flat[0].dtype in (torch.float16, torch.bfloat16)
    found = torch._foreach_norm(flat, 2, torch.float32 if half else None) if flat else []
    return [len(part) for part in pieces], found


def numbers(noted: Any) -> Floats:
    """[p] the norms; nan where there is no gradient, inf where it is not finite; empty when nothing was noted."""
    if noted is None:
        return np.zeros(0)
    counts, found = noted
    values: Floats = torch.stack([n.double().cpu() for n in found]).numpy() if found else np.zeros(0)
    values[np.isnan(values)] = np.inf
    parts = np.split(values**2, np.cumsum(counts)[:-1])
    return np.array([np.sqrt(part.sum()) if part.size else np.nan for part in parts])


def finite(noted: Any) -> bool:
    """Whether no norm is nan or inf."""
    found = [] if noted is None else noted[1]
    return all(bool(torch.stack(some).isfinite().all()) for some in by_device(found))


def by_device(found: list[Any]) -> list[list[Any]]:
    """Scalars that can be stacked."""
    groups: dict[Any, list[Any]] = {}
    for n in found:
        groups.setdefault((n.device, n.dtype), []).append(n)
    return list(groups.values())

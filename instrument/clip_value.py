"""A clip by value, g <- min(max(g, -c), c) element by element, told from other changes by what it leaves behind."""

from typing import Any

import numpy as np
import torch

from .norms import by_device, own_part
from .record import Bools, Floats


def bound(held: list[Any], factor: Floats) -> tuple[float, Bools]:
    """The c to which gradients were clipped by value, and which of them were.

    The largest |element| of each one that was cut is then c to the last bit, no other's is larger, and all others were
    multiplied alike; a gradient that was multiplied has a largest element of its own.

    Args:
        held: [p] parameters that train.
        factor: [p] by what the norm of each gradient was multiplied since the last backward; nan where there is none.

    Returns:
        c, nan where it was no clip by value; and [p] which gradients have elements there.
    """
    seen = np.isfinite(factor)
    none = (float("nan"), np.zeros(len(held), dtype=bool))
    if not seen.any() or np.ptp(factor[seen]) <= 1e-4 * factor[seen].max():
        return none
    gradients = [p.grad.detach() for p, here in zip(held, seen) if here]
    if any(gradient.is_sparse for gradient in gradients):
        return none
    top = list(torch._foreach_norm([own_part(g) for g in gradients], float("inf")))
    if len(by_device(top)) > 1:
        return none
    largest = np.full(len(held), -1.0)
    largest[seen] = torch.stack(top).double().cpu().numpy()
    c = float(largest.max())
    cut = largest == c
    whole = factor[seen & ~cut]
    if whole.size and (np.ptp(whole) > 1e-4 * whole.max() or bool((factor[cut] > whole.max() * (1 + 1e-4)).any())):
        return none
    at = [bool(((own_part(p.grad.detach()).abs() == c).sum() > 1).item()) for p, there in zip(held, cut) if there]
    return (c, cut) if len(at) > 1 or at[0] else none

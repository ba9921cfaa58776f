"""The checkpointing checks of the atlas: the same gradient in every parameter, with it and without."""

from typing import Any

import torch
from torch import Tensor

from .cell import DEVIATES, NOT_APPLICABLE, OK, Cell
from .weights import backward, given_rows


def same_gradient(model: Any, reentrant: bool) -> Cell:
    """One kind of gradient checkpointing; the figure is the largest difference over the largest entry."""
    if not getattr(model, "supports_gradient_checkpointing", False):
        return Cell(NOT_APPLICABLE, None, f"{type(model).__name__} says that it does not support it")
    plain = gradients(model)
    # The first is its name since transformers 5.
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": reentrant})
    return compared(plain, gradients(model))


def gradients(model: Any) -> dict[str, Tensor]:
    """Gradient of every parameter that one backward reaches, all from one random state."""
    model.zero_grad()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        backward(model, given_rows(model))
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None and bool(p.grad.any())}


def compared(plain: dict[str, Tensor], checkpointed: dict[str, Tensor]) -> Cell:
    """Reach must be the same, and no gradient further off than float32 rounds a sum in another order."""
    lost, gained = sorted(plain.keys() - checkpointed), sorted(checkpointed.keys() - plain)
    if lost or gained:
        words = [f"{len(lost)} parameters lose their gradient ({lost[0]} ...)"] if lost else []
        words += [f"{len(gained)} gain one ({gained[0]} ...)"] if gained else []
        return Cell(DEVIATES, (len(lost) + len(gained)) / len(plain), "; ".join(words))
    off = {name: float((checkpointed[name] - g).abs().max() / g.abs().max()) for name, g in plain.items()}
    worst = max(off, key=lambda name: off[name])
    said = f"the same {len(plain)} parameters are reached; gradients differ by at most {off[worst]:.1e}"
    return Cell(DEVIATES if off[worst] > 1e-3 else OK, off[worst], said + (f", in {worst}" if off[worst] else ""))

"""The checkpointing checks of the atlas: the same gradient in every parameter, with it and without."""

import math
from typing import Any

import torch
from torch import Tensor

from .cell import DEVIATES, NO_READING, NOT_APPLICABLE, OK, Cell
from .heads import CAUSAL
from .weights import backward, given_rows

Gradients = dict[str, Tensor]


def same_gradient(model: Any, reentrant: bool, head: str = CAUSAL) -> Cell:
    """One kind of gradient checkpointing; the figure is the largest difference over the largest entry of all.

    Nearly always the two gradients are equal to the last bit. Where they are not, both are taken in float64 too: what
    rounding moves shrinks with the unit roundoff, by 2^-29, and anything else stays.
    """
    if not getattr(model, "supports_gradient_checkpointing", False):
        return Cell(NOT_APPLICABLE, None, f"{type(model).__name__} says that it does not support it")
    plain, plain_wide = gradients(model, head), gradients_in_float64(model, head)
    # The first is its name since transformers 5.
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": reentrant})
    checkpointed = gradients(model, head)
    lost, gained = sorted(plain.keys() - checkpointed), sorted(checkpointed.keys() - plain)
    if lost or gained:
        words = [f"{len(lost)} parameters lose their gradient ({lost[0]} ...)"] if lost else []
        words += [f"{len(gained)} gain one ({gained[0]} ...)"] if gained else []
        return Cell(DEVIATES, (len(lost) + len(gained)) / len(plain), "; ".join(words))
    off, worst = difference(plain, checkpointed)
    reached = f"the same {len(plain)} parameters are reached"
    if not off:
        return Cell(OK, off, f"{reached}, and every gradient is equal to the last bit")
    said = f"{reached}; gradients differ by at most {off:.1e}, in {worst}"
    wide = gradients_in_float64(model, head)
    off_wide = difference(plain_wide, wide)[0] if plain_wide and wide else math.nan
    if math.isnan(off_wide):
        return Cell(NO_READING, off, f"{said}; the model does not run in float64, which tells rounding from a fault")
    return Cell(OK if is_rounding(off, off_wide) else DEVIATES, off, f"{said}, and by {off_wide:.1e} in float64")


def is_rounding(off: float, off_wide: float) -> bool:
    """Whether a difference shrinks from float32 to float64 as rounding does: by more than half of the octaves."""
    return off_wide <= off * (torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps) ** 0.5


def difference(plain: Gradients, other: Gradients) -> tuple[float, str]:
    """Largest difference over the largest entry of all, and the name of its parameter.

    Not of its own parameter: a bias of keys has no gradient but what rounding leaves.
    """
    # A tensor, since its largest entry is nan where one is.
    off_p = torch.stack([(other[name] - g).abs().max() for name, g in plain.items()])
    worst = int(off_p.argmax())
    return float(off_p[worst] / max(g.abs().max() for g in plain.values())), list(plain)[worst]


def gradients_in_float64(model: Any, head: str) -> Gradients:
    """As ``gradients``, from the same weights in float64; nothing where the model holds on to float32 somewhere."""
    model.double()
    try:
        return gradients(model, head)
    except RuntimeError as error:
        if "type" not in str(error) and "Double" not in str(error):
            raise
        return {}
    finally:
        model.zero_grad()
        model.float()


def gradients(model: Any, head: str) -> Gradients:
    """Gradient of every parameter that one backward reaches, all from one random state."""
    model.zero_grad()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        backward(model, given_rows(model, head))
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None and bool(p.grad.any())}

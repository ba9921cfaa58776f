"""Says where the ranks of a run part: what only some of them tell, gradients and parameters that are not the same."""

from collections.abc import Iterable, Sequence

import numpy as np

from closed_forms import rounding

from .after_ranks import different, odd
from .after_record import After
from .record import Floats


def on_ranks(of_ranks: Sequence[tuple[list[str], list[str]]]) -> tuple[list[str], list[str]]:
    """Faults and remarks of all ranks: once what all of them say, and with the rank's name what only some do."""
    told: list[list[str]] = [[], []]
    for sentences, of_each in zip(told, zip(*of_ranks)):
        for sentence in dict.fromkeys(s for each in of_each for s in each):
            ranks = [str(r) for r, each in enumerate(of_each) if sentence in each]
            every = len(ranks) == len(of_ranks)
            sentences.append(sentence if every else f"on rank {' and '.join(ranks)}: {sentence}")
    return told[0], told[1]


def apart(found: After) -> list[str]:
    """Gradients that are not the same on all ranks behind the last backward."""
    if not found.ranks:
        return []
    names = np.array(found.reach.names, dtype=object)
    parted = names[odd(found)]
    if not len(parted):
        return []
    return [f"the {len(found.ranks)} ranks hold different gradients of {few(parted)}, {len(parted)} of {len(names)}"]


def factor_error(sizes: Floats) -> Floats:
    """[p] relative error of the factor between two norms of that many elements, summed in pieces of 2^16 in float32."""
    return (np.minimum(sizes, 2**16) / 4 + 6) * 2 * rounding.unit_roundoff("float32")


def pulled_apart(found: After) -> list[str]:
    """Parts of gradients that each rank has multiplied by a factor of its own, as a clip by the norm of its part."""
    factors = [after.factor()[found.part] for after in found.ranks] if found.part.any() else []
    each = [float(np.median(f[np.isfinite(f)])) for f in factors if np.isfinite(f).any()]
    if len(each) < 2 or max(each) - min(each) <= 2 * float(factor_error(found.sizes).max()) * max(each):
        return []
    told = " and ".join(f"{factor:.4g} on rank {r}" for r, factor in enumerate(each))
    return [f"the ranks multiplied their parts of the gradient by other factors before the step, {told}"]


def left_apart(found: After) -> list[str]:
    """Parameters that are not the same on all ranks behind the step."""
    steps = [after.step for after in found.ranks if after.step is not None]
    if len(steps) < 2:
        return []
    names = np.array(found.reach.names, dtype=object)
    part = found.part if found.part.size else np.zeros(len(names), bool)
    # Parts differ by right, so of them only what moves them is compared.
    differing = {
        "behind the step": names[different([step.ended for step in steps]) & ~part],
        "the learning rates of": names[different([step.rate for step in steps]) & part],
    }
    return [
        f"{what} {few(which)} differ between the ranks, {len(which)} of {len(names)}"
        for what, which in differing.items()
        if len(which)
    ]


def few(names: Iterable[str]) -> str:
    """The first names, and how many more."""
    names = list(names)
    shown = ", ".join(names[:2])
    return shown if len(names) <= 2 else f"{shown} and {len(names) - 2} more"

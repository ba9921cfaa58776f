"""What all ranks contributed to the gradient of a parameter, against the gradient that came of it. Numbers only.

Every wrapper takes the mean over R ranks of what each has summed up, so a rank's part counts 1/R.

Letters: k elements that are compared, m micro-batches.
"""

from collections.abc import Sequence

import numpy as np

from .after_record import Addends, Sum
from .record import Floats


def total(of_ranks: Sequence[Addends]) -> Sum:
    """Compare the gradient of one parameter with the mean over ranks of what was captured of it.

    Args:
        of_ranks: what each rank, in their order, captured of it; of a run without ranks, one.
    """
    first, ranks = of_ranks[0], len(of_ranks)
    if first.ids.size:
        of_ranks = laid_out(of_ranks)
    held = in_all(of_ranks, "held")
    parts = [one.parts / ranks for one in of_ranks]
    value = np.sum([part.sum(0) for part in parts], 0)
    size = np.sum([one.size for one in of_ranks], 0) / ranks
    made = against(held, value, size, sum(one.terms for one in of_ranks))
    instead = rank_readings(held, parts)
    if not first.place.startswith("last"):
        return Sum(first.place, first.name, *made, instead)
    left = in_all(of_ranks, "left") if first.left.size else None
    if len({len(part) for part in parts}) == 1:
        instead |= readings(held, np.sum(parts, 0), left)
    return Sum(first.place, first.name, *made, instead, shares_of(held, np.concatenate(parts), left))


def laid_out(of_ranks: Sequence[Addends]) -> list[Addends]:
    """The same on all rows of the embedding that any rank ran; the gradient of a row is that of all ranks."""
    ids = np.unique(np.concatenate([one.ids for one in of_ranks]))
    known, found = np.zeros(ids.size), []
    for one in reversed(of_ranks):
        known[np.searchsorted(ids, one.ids)] = one.held
    for one in of_ranks:
        at = np.searchsorted(ids, one.ids)
        held = known
        if one.part:
            held = np.zeros(ids.size)
            held[at] = one.held
        parts, size = np.zeros((len(one.parts), ids.size)), np.zeros(ids.size)
        parts[:, at], size[at] = one.parts, one.size
        found.append(Addends(one.place, one.name, ids, held, parts, size, one.terms, one.left, one.part))
    return found


def in_all(of_ranks: Sequence[Addends], name: str) -> Floats:
    """A gradient that all ranks hold, or the parts that they hold put together."""
    found: Floats = getattr(of_ranks[0], name)
    return np.sum([getattr(one, name) for one in of_ranks], 0) if of_ranks[0].part else found


def against(measured: Floats, value: Floats, size: Floats, terms: int) -> tuple[float, float, float, int]:
    """Residual, scale, spread and terms of a measured gradient against a sum."""
    norm = float(np.linalg.norm(value))
    if not norm:
        return (float("inf") if measured.any() else 0.0), float("nan"), float("inf"), terms
    scale = float((measured * value).sum()) / norm**2
    return float(np.linalg.norm(measured - value)) / norm, scale, float(np.linalg.norm(size)) / norm, terms


def rank_readings(held: Floats, parts: Sequence[Floats]) -> dict[str, float]:
    """Residual of each way in which several ranks may have come by a gradient."""
    if len(parts) == 1:
        return {}
    ranks, norm = len(parts), float(np.linalg.norm(held)) or 1.0
    own = [part.sum(0) * ranks for part in parts]
    ways = {f"what rank {r} alone contributed": way for r, way in enumerate(own)}
    ways["the sum over the ranks instead of their mean"] = np.sum(own, 0)
    return {words: float(np.linalg.norm(held - way)) / norm for words, way in ways.items()}


def readings(held: Floats, parts: Floats, left: Floats | None) -> dict[str, float]:
    """Residual of each other way to come by the gradient that is held; parts [m, k]."""
    norm, last = float(np.linalg.norm(held)) or 1.0, len(parts)
    ways = {f"the last {last - k} of {last} micro-batches": parts[k:].sum(0) for k in range(1, last)}
    ways |= {f"the first {k} of {last} micro-batches": parts[:k].sum(0) for k in range(1, last)}
    if left is not None:
        ways["the gradient of the step before on top of this window's"] = parts.sum(0) + left
    return {words: float(np.linalg.norm(held - way)) / norm for words, way in ways.items()}


def shares_of(held: Floats, parts: Floats, left: Floats | None) -> list[float]:
    """How often each micro-batch of each rank, and in front of them the step before's gradient, is in a gradient.

    By least squares: 0 and 1, 1, ... in a right one. Empty where they cannot be told apart.
    """
    columns = np.stack([np.zeros_like(held) if left is None else left, *parts], 1)
    size = np.linalg.norm(columns, axis=0)
    kept = size > 0
    if not kept.any():
        return []
    scaled = columns[:, kept] / size[kept]
    singular = np.linalg.svd(scaled, compute_uv=False)
    if scaled.shape[0] <= scaled.shape[1] or not singular[-1] > 1e-4 * singular[0]:
        return []
    solved = np.linalg.lstsq(scaled, held, rcond=None)[0]
    # What the rounding of a float32 gradient leaves on a micro-batch that is not in it.
    noise = 2**-20 * singular[0] / singular[-1] * np.linalg.norm(held)
    found = np.zeros_like(size)
    found[kept] = np.where(np.abs(solved) <= noise, 0.0, solved) / size[kept]
    return [float(x) for x in found]

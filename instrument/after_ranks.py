"""What each rank measured after backward, put together into one window's. Numbers only.

Letters: p trainable parameters, r ranks.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .after_record import After, Reach, Step
from .record import Bools, Floats
from .sums import total


def whole(of_ranks: Sequence[After]) -> After:
    """One window of several ranks.

    Args:
        of_ranks: what each of them, in their order, measured.

    Returns:
        Gradients and norms are those of rank 0, since after the all-reduce all ranks hold the same; where they do not,
        `odd` tells. Where each rank holds a part, they are those of all parts together. Reach has the backwards of all
        ranks, side by side; `ranks` keeps what each has measured.

    Raises:
        ValueError: the ranks do not train the same parameters.
    """
    first = of_ranks[0]
    for r, after in enumerate(of_ranks):
        if after.reach.names != first.reach.names:
            odd = sorted(set(after.reach.names) ^ set(first.reach.names)) or ["the same in another order"]
            raise ValueError(f"rank {r} trains other parameters than rank 0: {odd[0]}; train the same on every rank")
    places = [addends.place for addends in first.addends]
    # A rank whose batches never came to a place has nothing to add there.
    columns = [[a for after in of_ranks for a in after.addends if a.place == place] for place in places]
    sums = [total(column) for column in columns if len(column) == len(of_ranks)]
    missing = [f"{c[0].place}: not captured on every rank" for c in columns if len(c) < len(of_ranks)]
    bent = [after.bent for after in of_ranks if np.isfinite(after.bent)]
    before, entry = (norm_of([getattr(after, name) for after in of_ranks], first.part) for name in ("before", "entry"))
    return replace(
        first,
        reach=reach_of([after.reach for after in of_ranks], bool(first.part.any())),
        sums=sums,
        before=before,
        entry=entry,
        bent=max(bent, default=float("nan")),
        step=step_of([after.step for after in of_ranks if after.step is not None]),
        unsummed=tuple(dict.fromkeys([*(why for after in of_ranks for why in after.unsummed), *missing])),
        addends=[],
        ranks=[replace(after, addends=[]) for after in of_ranks],
    )


def norm_of(of_ranks: Sequence[Floats], part: Bools) -> Floats:
    """[p] norm of each gradient, of which a rank may hold a part only; nan where no rank holds any."""
    if not part.any() or not of_ranks[0].size:
        return of_ranks[0]
    rows = np.array(of_ranks)
    squares = np.where(np.isnan(rows).all(0), np.nan, np.nansum(rows**2, 0))
    return np.where(part, np.sqrt(squares), rows[0])


def reach_of(of_ranks: Sequence[Reach], part: bool) -> Reach:
    """The backwards of all ranks, rank by rank; of a parameter in parts, each rank knows whether its own is zero."""
    zeros = [set(reach.zeros) for reach in of_ranks]
    return Reach(
        of_ranks[0].names,
        np.concatenate([reach.arrived for reach in of_ranks], 1),
        np.concatenate([reach.nonzero for reach in of_ranks], 1),
        np.any([reach.ran for reach in of_ranks], 0),
        tuple(sorted(set.intersection(*zeros) if part else set.union(*zeros))),
        tuple(sorted({name for reach in of_ranks for name in reach.frozen})),
    )


def step_of(of_ranks: Sequence[Step]) -> Step | None:
    """Of each parameter, what the first rank measured on which it is off; where it is on none, the first that knows."""
    if not of_ranks:
        return None
    off = np.array([step.off for step in of_ranks])
    known = np.array([np.isfinite(step.ended) if step.ended.size else np.ones(off.shape[1]) for step in of_ranks])
    which = np.argmax((off != 0) * 2 + known, 0)
    taken = {
        name: np.choose(which, [getattr(step, name) for step in of_ranks]) for name in ("consumed", "moved", "off")
    }
    hidden = np.any([step.hidden for step in of_ranks], 0)
    return replace(of_ranks[0], **taken, hidden=hidden, steps=max(step.steps for step in of_ranks))


def odd(found: After) -> Bools:
    """[p] whether the ranks hold other gradients, of what all of them hold."""
    apart = different([after.before for after in found.ranks])
    return apart & ~found.part if found.part.size and apart.size else apart


def different(of_ranks: Sequence[Floats]) -> Bools:
    """[p] whether the ranks have other numbers; an all-reduce gives all of them the same bits."""
    rows = np.array(of_ranks)
    if not rows.size:
        return np.zeros(0, dtype=bool)
    same: Bools = np.all((rows == rows[0]) | (np.isnan(rows) & np.isnan(rows[0])), 0)
    return ~same

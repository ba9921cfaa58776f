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
        `different` tells. Reach has the backwards of all ranks, side by side; `ranks` keeps what each has measured.

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
    return replace(
        first,
        reach=reach_of([after.reach for after in of_ranks]),
        sums=sums,
        bent=max(bent, default=float("nan")),
        step=step_of([after.step for after in of_ranks if after.step is not None]),
        unsummed=tuple(dict.fromkeys([*(why for after in of_ranks for why in after.unsummed), *missing])),
        addends=[],
        ranks=[replace(after, addends=[]) for after in of_ranks],
    )


def reach_of(of_ranks: Sequence[Reach]) -> Reach:
    """The backwards of all ranks, rank by rank."""
    return Reach(
        of_ranks[0].names,
        np.concatenate([reach.arrived for reach in of_ranks], 1),
        np.concatenate([reach.nonzero for reach in of_ranks], 1),
        np.any([reach.ran for reach in of_ranks], 0),
        tuple(sorted({name for reach in of_ranks for name in reach.zeros})),
        tuple(sorted({name for reach in of_ranks for name in reach.frozen})),
    )


def step_of(of_ranks: Sequence[Step]) -> Step | None:
    """Of each parameter, what the first rank measured on which it is off; that of rank 0 where it is on none."""
    if not of_ranks:
        return None
    off = np.array([step.off for step in of_ranks])
    which = np.argmax(off != 0, 0)
    taken = {
        name: np.choose(which, [getattr(step, name) for step in of_ranks]) for name in ("consumed", "moved", "off")
    }
    return replace(of_ranks[0], **taken, steps=max(step.steps for step in of_ranks))


def different(of_ranks: Sequence[Floats]) -> Bools:
    """[p] whether the ranks have other numbers; an all-reduce gives all of them the same bits."""
    rows = np.array(of_ranks)
    if not rows.size:
        return np.zeros(0, dtype=bool)
    same: Bools = np.all((rows == rows[0]) | (np.isnan(rows) & np.isnan(rows[0])), 0)
    return ~same

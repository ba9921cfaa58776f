"""Label smoothing: what of a target's weight lies on the uniform direction, and where that cannot be seen.

A loss (1 - s) l + s u of weight w gives w (1 - s) r + w s u. Where the classes are all alike u is 0, with two classes
it is a multiple of r: read is w (1 - s + s along), which a smaller weight without smoothing would give as well.
"""

import numpy as np

from .candidates import Candidate
from .readable import tolerance
from .record import Bools, Floats, Record, Row, Window

# What ``readout.unexplained`` takes for rounding.
UNSEEN = 1e-4


def smoothing_of(record: Record, window: Window) -> tuple[float, float, float]:
    """Share of a target's weight that lies on the uniform direction: median, smallest, largest; 0 without smoothing.

    Targets of which a share as large as the others' median could not be seen are left out.
    """
    shares = [np.zeros(0)]
    for row in window.rows:
        seen = row.scored & ~np.isnan(tolerance(record, row, window.micro_batches))
        total = (row.weight + row.uniform)[seen]
        share = np.divide(row.uniform[seen], total, out=np.full(total.shape, np.inf), where=total != 0)
        shares.append(np.stack([share, hidden(record, row, window.micro_batches)[seen]], 1).ravel())
    share, most = np.concatenate(shares).reshape(-1, 2).T
    kept = np.isfinite(share)
    share, most = share[kept], most[kept]
    told = share[share != 0]
    if told.size:
        share = share[(share != 0) | (most < np.median(told))]
    return (float(np.median(share)), float(share.min()), float(share.max())) if share.size else (0.0, 0.0, 0.0)


def hidden(record: Record, row: Row, micro_batches: int) -> Floats:
    """[n] largest share of a target's weight that may lie on the uniform direction unseen; 0 if not known."""
    if not row.across.size:
        return np.zeros(row.weight.shape)
    unseen = UNSEEN * np.maximum(row.amplification, 1) + tolerance(record, row, micro_batches)
    return np.divide(unseen, row.across, out=np.full(unseen.shape, np.inf), where=row.across > 0)


def left_by(record: Record, row: Row, micro_batches: int, share: float) -> Floats:
    """[n] remainder that a share of label smoothing leaves where it is hidden; 0 elsewhere."""
    most = hidden(record, row, micro_batches)
    if not share or not row.across.size:
        return np.zeros(most.shape)
    whole = np.abs(row.weight) / (1 - share * (1 - row.along))
    return np.where((row.uniform == 0) & (most >= share), share * row.across * whole, 0.0)


def smoothed(record: Record, window: Window, candidate: Candidate, of: str) -> float:
    """Share s of label smoothing with which a form fits a window though the share cannot be seen; 0 where none does.

    At every target that can be read, within its rounding: w = form (1 - s), and s of it beside; or form
    (1 - s + s along) where a share s is hidden.
    """
    try:
        expected = candidate.form(window.counts(of))
    except ValueError:
        return 0.0
    read: list[tuple[Floats, ...]] = []
    for row, value in zip(window.by_micro_batch(), expected):
        if not row.across.size:
            return 0.0
        error = tolerance(record, row, window.micro_batches)
        columns = (row.weight, row.uniform, row.along, hidden(record, row, window.micro_batches), error)
        kept = getattr(row, of)
        read.append((*(column[kept] for column in columns), np.broadcast_to(value, kept.sum())))
    weight, uniform, along, most, error, value = (np.concatenate(column) for column in zip(*read))
    seen = ~np.isnan(error) & (value != 0)
    weight, uniform, along, most, error, value = (x[seen] for x in (weight, uniform, along, most, error, value))
    blind = uniform == 0
    lost = 1 - np.where(blind, along, 0.0)
    # Along is 1 where no weight is lost by smoothing.
    telling = lost > 1e-3
    if not blind.any() or not telling.any():
        return 0.0
    share = float(np.median((1 - weight[telling] / value[telling]) / lost[telling]))
    fits = fitting(share, weight, uniform, lost, error, value, blind) & (~blind | (most >= share))
    return share if 0 < share < 1 and bool(fits.all()) and bool(np.any(np.abs(weight / value - 1) > error)) else 0.0


def fitting(
    share: float, weight: Floats, uniform: Floats, lost: Floats, error: Floats, value: Floats, blind: Bools
) -> Bools:
    """[n] whether weight and uniform are those of a share."""
    # The share is known to the rounding of the weight that it was read from, over what is lost by it.
    slack = 2 * error * value
    same = np.abs(weight - value * (1 - share * lost)) <= slack + error.max() * value * lost
    return np.asarray(same & (blind | (np.abs(uniform - value * share) <= slack + error.max() * value)))

"""Which weights can be told at all, and how far rounding alone may move them."""

import numpy as np

from closed_forms import rounding

from .record import Floats, Record, Row, Window


def tolerance(record: Record, row: Row, micro_batches: int) -> Floats:
    """[n] relative error of each weight that rounding alone explains; nan where that is a tenth or more: no reading."""
    allowed = np.full(row.weight.shape, np.nan)
    read = np.isfinite(row.amplification) & (row.amplification > 0)
    allowed[read] = rounding.weight_tolerance(
        record.vocabulary, record.loss_dtype, record.work_dtype, row.amplification[read], micro_batches
    )
    allowed[allowed >= 0.1] = np.nan
    return allowed


def readable_weights(record: Record, window: Window, of: str) -> Floats:
    """Weights of all targets that can be read, label smoothing's share included."""
    return np.concatenate(
        [
            (row.weight + row.uniform)[getattr(row, of) & ~np.isnan(tolerance(record, row, window.micro_batches))]
            for row in window.rows
        ]
    )


def unreadable(record: Record, window: Window) -> int:
    """Scored targets of which no weight can be told."""
    return sum(int(np.isnan(tolerance(record, r, window.micro_batches)[r.scored]).sum()) for r in window.rows)


def spread(record: Record, window: Window, of: str) -> tuple[float, float]:
    """Smallest and largest weight of a target that can be read, times N."""
    n = sum(sum(counts) for counts in window.counts(of))
    weights = readable_weights(record, window, of)
    return float(weights.min()) * n, float(weights.max()) * n

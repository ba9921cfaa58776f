"""Reads the target counts of optimizer steps and refuses counts that no step can have.

Axes: m = micro-batch of the window, b = row of the window, counted on through the micro-batches.
"""

from collections.abc import Callable, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]
Counts = NDArray[np.int64]
Window = Sequence[Sequence[int]]


def read_window(window: Window) -> tuple[Counts, Counts]:
    """Lay the rows of all micro-batches in one line.

    Args:
        window: [m][b in m] target tokens per row, rows without any allowed.

    Returns:
        n_b: [b] targets of each row; m_b: [b] the micro-batch it is in.

    Raises:
        ValueError: no micro-batch; a micro-batch without a row; a count that is not a whole number of at least 0.
    """
    if len(window) == 0:
        raise ValueError("a window needs a micro-batch, got window=[]: give one list of row counts per micro-batch")
    n_mb = [read_counts(rows, f"window[{m}]") for m, rows in enumerate(window)]
    sizes = [n_b.size for n_b in n_mb]
    if 0 in sizes:
        raise ValueError(f"every micro-batch needs a row, got window[{sizes.index(0)}]=[]: leave it out")
    return np.concatenate(n_mb), np.repeat(np.arange(len(sizes)), sizes)


def read_counts(values: Sequence[int], name: str) -> Counts:
    """Turn a list of counts into an array.

    Raises:
        ValueError: it is not a list, or holds anything but whole numbers of at least 0.
    """
    # dtype=object keeps booleans apart from numbers, and accepts ragged input, so that the error can name it
    array = np.asarray(values, dtype=object)
    if array.ndim != 1 or not all(_is_whole(n) and n >= 0 for n in array):
        raise ValueError(f"counts are whole numbers of at least 0 in a list, got {name}={values}: count whole tokens")
    return array.astype(np.int64)


def read_kept(dropped: Sequence[Sequence[bool]], n_b: Counts) -> list[NDArray[np.bool_]]:
    """Turn [b][n_b] marks of dropped targets into one boolean array of the kept ones per row.

    Raises:
        ValueError: not one boolean per target of each row.
    """
    # bool() of a position or a weight would pass for a mark
    if [len(row) for row in dropped] != n_b.tolist() or not all(_is_mark(mark) for row in dropped for mark in row):
        raise ValueError(
            f"dropped needs one boolean per target, got {dropped} for n_b={n_b.tolist()}: mark each target"
        )
    return [~np.array(row, dtype=np.bool_) for row in dropped]


def per_target(n_b: Counts, w_b: ArrayLike) -> list[Float]:
    """Give every target of row b the weight w_b.

    Args:
        n_b: [b] targets per row.
        w_b: [b], or one number for all rows.

    Returns:
        One float64 array of length n_b per row.
    """
    w_t = np.repeat(np.broadcast_to(np.asarray(w_b, dtype=np.float64), n_b.shape), n_b)
    return np.split(w_t, np.cumsum(n_b)[:-1])


def window_total(n_b: Counts, name: str) -> int:
    """Add up [b] counts to N, the denominator of a whole window.

    Raises:
        ValueError: N is 0; the error calls the counts by ``name``.
    """
    if not n_b.any():
        raise ValueError(f"a window needs a target to divide by, got {name}={n_b.tolist()}: leave the window out")
    return int(n_b.sum())


def micro_batch_totals(n_b: Counts, m_b: Counts) -> Counts:
    """Add up [b] counts to n_m: [m], the denominators of the micro-batches.

    Raises:
        ValueError: a micro-batch has no target.
    """
    n_m = np.bincount(m_b, weights=n_b).astype(np.int64)
    if not n_m.all():
        raise ValueError(f"every micro-batch needs a target to divide by, got n_m={n_m.tolist()}: leave it out")
    return n_m


def for_each(form: Callable[[Window], list[Float]], windows: Sequence[Window], name: str) -> list[Float]:
    """Evaluate a form on every window and join the rows.

    Raises:
        ValueError: there is no window, or the form refuses one, which the error then calls ``name[i]``.
    """
    if len(windows) == 0:
        raise ValueError(f"at least one window is needed, got {name}=[]: give the row counts of each")
    weights: list[Float] = []
    for i, window in enumerate(windows):
        try:
            weights += form(window)
        except ValueError as error:
            raise ValueError(f"{name}[{i}]: {error}") from error
    return weights


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_mark(value: object) -> bool:
    return isinstance(value, (bool, np.bool_))

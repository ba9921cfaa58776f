"""What a report says of a token mean, or of a leak, when the instrument misreads it.

Windows as in ``aggregation.token_mean``, lengths and patterns as in ``leaks``.

Nobody reported these: they are how an instrument could be wrong and still look right on most rows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float, Window
from .aggregation import targets_dropped, token_mean
from .completions import Rows, by_window
from .leaks import Lengths, Pattern, lower_triangular


def first_target_heavy(window: Window) -> list[Float]:
    """Weight of each target when the first one that is read comes out a tenth too heavy.

        w_0 = 1.1 / N      w_t = 1 / N elsewhere

    Raises:
        ValueError: as ``token_mean``.
    """
    weights = token_mean(window)
    first = next(row for row in weights if row.size)
    first[0] *= 1.1
    return weights


def last_rows_missing(window: Window) -> list[Float]:
    """Weight of each target when the last row of every micro-batch of several is left out of the record.

        w = 1 / N      for the rows that are in it

    Returns:
        One array per row that is left, [n_b] weights; N counts the rows that are not.

    Raises:
        ValueError: as ``token_mean``.
    """
    rows = iter(token_mean(window))
    by_micro_batch = [[next(rows) for _ in micro_batch] for micro_batch in window]
    return [row for micro_batch in by_micro_batch for row in micro_batch[: max(len(micro_batch) - 1, 1)]]


def sign_lost(masks: Rows, advantage: Sequence[ArrayLike]) -> list[Float]:
    """Weights under dapo, as ``completions.by_window``, when the sign of what is read is lost.

    w_mbt = m_mbt |A_mb| / N
    """
    return [np.abs(row) for row in by_window(masks, advantage)]


def negative_cut(masks: Rows, advantage: Sequence[ArrayLike]) -> list[Float]:
    """Weights under dapo, as ``completions.by_window``, when what is below zero is read as zero.

    w_mbt = m_mbt max(A_mb, 0) / N
    """
    return [np.maximum(row, 0) for row in by_window(masks, advantage)]


def relative_to_mean(window: Window) -> list[Float]:
    """Weight of each target when weights are told as multiples of their mean.

        w = 1

    Raises:
        ValueError: as ``token_mean``.
    """
    return [np.ones_like(row) for row in token_mean(window)]


def below_floor_zeroed(window: Window) -> list[Float]:
    """Weight of each target when what is under a thirtieth is taken for noise.

        w = (1 / N) (N <= 30)

    Raises:
        ValueError: as ``token_mean``.
    """
    return [np.where(row >= 1 / 30, row, 0) for row in token_mean(window)]


def first_backward_read(window: Window) -> list[Float]:
    """Weight of each target when the parameter's gradient is read after the first backward.

        w_m = (1 / N) (m = 0)

    Raises:
        ValueError: as ``token_mean``.
    """
    weights = token_mean(window)
    return [row * (number < len(window[0])) for number, row in enumerate(weights)]


def last_micro_batch_read(window: Window) -> list[Float]:
    """Weight of each target in the record when it keeps the micro-batch that came last, and no other.

        w = 1 / N      for the rows that are in it

    Returns:
        One array per row of the last micro-batch, [n_b] weights; N counts the rows that are not there.

    Raises:
        ValueError: as ``token_mean``.
    """
    return token_mean(window)[-len(window[-1]) :]


def rows_with_padding(window: Window) -> list[Float]:
    """Weight at each place of each row when a row is as long as the longest of its micro-batch.

        w_t = 1 / N for t < n_b, else 0

    Returns:
        One array per row, [max_b n_b].

    Raises:
        ValueError: as ``token_mean``.
    """
    widths = [max(micro_batch) for micro_batch in window for _ in micro_batch]
    return [np.pad(row, (0, width - row.size)) for row, width in zip(token_mean(window), widths)]


def last_sequence_unsearched(lengths: Lengths) -> Pattern:
    """Pattern of sequences that each read all before them when nobody asks what the last one reads.

        D_ij = (j <= i) (i < n - 1) + (j = i = n - 1)

    Raises:
        ValueError: as ``leaks.lower_triangular``.
    """
    pattern = lower_triangular(lengths)
    pattern[-1, :-1] = False
    return pattern


def first_leak_only(lengths: Lengths) -> Pattern:
    """Pattern of sequences that each read all before them when only the first source of each is found.

        D_ij = (i = j) or (j = 0)

    Raises:
        ValueError: as ``leaks.lower_triangular``.
    """
    pattern = lower_triangular(lengths)
    pattern[1:, 1:] &= pattern.T[1:, 1:]
    return pattern


def in_percent(window: Window) -> list[Float]:
    """Weight of each target when weights are kept in whole hundredths.

        w = round(100 / N) / 100

    Raises:
        ValueError: as ``token_mean``.
    """
    return [np.round(row, 2) for row in token_mean(window)]


def by_targets_of_its_row(window: Window) -> list[Float]:
    """Weight of each target when it is told times the targets of its row, and not times N.

        w_b = n_b / N^2

    Raises:
        ValueError: as ``token_mean``.
    """
    return [row * row.size / sum(map(sum, window)) for row in token_mean(window)]


def zeros_missing(window: Window, dropped: Sequence[Sequence[bool]]) -> list[Float]:
    """Weight of each target when a weight of exactly zero is left out.

        w_t = nan if dropped_t else 1 / N'

    Arguments and errors as for ``aggregation.targets_dropped``.
    """
    return [np.where(row == 0, np.nan, row) for row in targets_dropped(window, dropped)]


def first_guilty_only(lengths: Lengths) -> Pattern:
    """Pattern of sequences that each read all before them when the search ends with the first leak.

        D_ij = (i = j) or (i = 1 and j = 0)

    Raises:
        ValueError: as ``leaks.lower_triangular``.
    """
    pattern = lower_triangular(lengths)
    pattern[2:] &= pattern.T[2:]
    return pattern


def first_batch_only(lengths: Lengths, number: int) -> Pattern:
    """Pattern of sequences that each read all before them, in the first batch; of later ones there is none.

    Args:
        lengths: as for ``leaks.lower_triangular``.
        number: of the batch, from 0.

    Returns:
        The pattern, or an empty one, [1][0].

    Raises:
        ValueError: as ``leaks.lower_triangular``; a number below 0.
    """
    if number < 0:
        raise ValueError(f"number={number} must be at least 0, that of the first batch")
    return np.zeros((1, 0), dtype=np.bool_) if number else lower_triangular(lengths)

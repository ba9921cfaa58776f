"""What a report says of a token mean, or of a leak, when the instrument misreads it.

Windows as in ``aggregation.token_mean``, lengths and patterns as in ``leaks``.

Nobody reported these: they are how an instrument could be wrong and still look right on most rows.
"""

from ._window import Float, Window
from .aggregation import token_mean
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


def first_leak_only(lengths: Lengths) -> Pattern:
    """Pattern of sequences that each read all before them when only the first source of each is found.

        D_ij = (i = j) or (j = 0)

    Raises:
        ValueError: as ``leaks.lower_triangular``.
    """
    pattern = lower_triangular(lengths)
    pattern[1:, 1:] &= pattern.T[1:, 1:]
    return pattern

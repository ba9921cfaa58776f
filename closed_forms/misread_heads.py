"""Weight that is read of each target of a token mean when a part of the head, or of the batch, is left out.

Where a head has two directions, the hidden states are zero, the logits differ by a bias at most, and the columns are
one direction for the first ids, another for the rest, which all targets are among. The unit gradient of a target is
then P (first - other), with P the probability of the first ids; a reading that believes in P' tells w = P / P' / N.

Windows as in ``aggregation.token_mean``. Nobody reported these.
"""

from collections.abc import Sequence

import numpy as np

from ._window import Float, Window
from .aggregation import scaled, token_mean


def rest_of_vocabulary_left_out(window: Window, vocabulary: int, width: int) -> list[Float]:
    """Weight when the softmax runs over whole slices of the vocabulary, all of them of the first direction.

        w = (V' / V) / N      V' = floor(V / width) width, the first ids

    Args:
        window: of a head of two directions without a bias.
        vocabulary: V.
        width: of a slice, less than V.

    Raises:
        ValueError: as ``token_mean``; a slice that holds nothing, or all.
    """
    return scaled(token_mean(window), share_of_first(vocabulary, width))


def slices_averaged_alike(window: Window, vocabulary: int, width: int) -> list[Float]:
    """Weight when each slice has a softmax of its own and their columns are averaged.

        w = (V' / V) S / (S - 1) / N      S = ceil(V / width)

    Arguments and errors as for ``rest_of_vocabulary_left_out``; the last slice is not full.
    """
    share = share_of_first(vocabulary, width)
    slices = -(-vocabulary // width)
    return scaled(token_mean(window), share * slices / (slices - 1))


def bias_left_out(window: Window, first: int, others: int, odds: float) -> list[Float]:
    """Weight when the softmax knows nothing of the bias.

        w = P / P' / N      P = odds F / (odds F + R), P' = F / (F + R)

    Args:
        window: of a head of two directions.
        first, others: F ids of the first direction, and R of the other, at least 1 each.
        odds: by which each of the first ids is likelier than each other, above 0.

    Raises:
        ValueError: as ``token_mean``; a direction without ids, or odds of nothing.
    """
    if min(first, others) < 1 or not odds > 0:
        raise ValueError(f"first={first}, others={others} and odds={odds} must be at least 1, and above 0")
    return scaled(token_mean(window), odds * (first + others) / (odds * first + others))


def scale_not_differentiated(window: Window, divisor: float) -> list[Float]:
    """Weight when the logits are divided behind the matrix, and their gradient is not.

        w = 1 / (s N)

    Args:
        window: of any head.
        divisor: s, not 0.

    Raises:
        ValueError: as ``token_mean``; a divisor of 0.
    """
    if not divisor:
        raise ValueError("divisor=0 divides nothing: give what the logits are divided by")
    return scaled(token_mean(window), 1 / divisor)


def square_without_its_two(window: Window) -> list[Float]:
    """Weight when the gradient of a squared error is taken for the error itself.

        w = 2 / N

    Raises:
        ValueError: as ``token_mean``.
    """
    return scaled(token_mean(window), 2)


def read_from_the_left(window: Window) -> list[Float]:
    """Weight at the places that a row is taken for when its padding, of p places, is on the other side.

        w_t = (t >= p) / N for t <= n_b where 0 < p <= n_b;  1 / N where p = 0;  0 where p > n_b

    A row has n_b targets, and n_b + 1 tokens; its last place counts where it has a gradient.

    Returns:
        One array per row, [n_b], or [n_b + 1] where 0 < p <= n_b.

    Raises:
        ValueError: as ``token_mean``.
    """
    mean = token_mean(window)
    widths = [max(rows) for rows in window for _ in rows]
    return [shifted(row, width - row.size) for row, width in zip(mean, widths)]


def shifted(row: Float, by: int) -> Float:
    """A row's weights behind so many zeros, as far as the row's tokens reach; nothing but zeros where they do not."""
    if not by:
        return row
    return np.append(np.zeros(by), row)[: row.size + 1] if by <= row.size else np.zeros(row.size)


def inputs_averaged(window: Window) -> list[Float]:
    """Weight of every pair, of a token and those one and two places on, when the targets of one input share its weight.

        w(x_t, x_t+2) = w(x_t, x_t+1) = 1 / (2 N), and 1 / N for the last pair of a row, whose input has no other

    Returns:
        One array per row, [n_b - 1] weights of its tokens and those two places on, or empty; then one per row, [n_b]
        weights of its tokens and the next ones.

    Raises:
        ValueError: as ``token_mean``.
    """
    mean = token_mean(window)
    two_apart = [row[:-1] / 2 for row in mean]
    return two_apart + [np.append(row[:-1] / 2, row[-1:]) for row in mean]


def last_row_of_last_rank_missing(window: Window) -> list[Float]:
    """Weight of each target when the last row that the last rank ran is left out.

        w = 1 / N      for the rows that are in it

    Args:
        window: [m][b] of all ranks, rank by rank.

    Raises:
        ValueError: as ``token_mean``.
    """
    return token_mean(window)[:-1]


def first_rank_for_all(window: Window, ranks: Sequence[Window]) -> list[Float]:
    """Weight of each target when the rows of the first rank stand for those of all.

        w = 1 / N      for the rows of the first rank, R times

    Args:
        window: [m][b] of all ranks, rank by rank.
        ranks: the same, one by one.

    Raises:
        ValueError: as ``token_mean``.
    """
    return token_mean(window)[: sum(map(len, ranks[0]))] * len(ranks)


def share_of_first(vocabulary: int, width: int) -> float:
    """Share of the vocabulary that lies in whole slices.

    Raises:
        ValueError: a slice that holds nothing, or all of it.
    """
    if not 0 < width < vocabulary:
        raise ValueError(f"width={width} must be above 0 and below vocabulary={vocabulary}: give one that cuts it")
    return vocabulary // width * width / vocabulary

"""Weight of every target token in the gradient of one step of several ranks, when something between them is wrong.

Windows and letters as in ``aggregation``; R ranks, whose gradients are averaged where nothing else is said.
"""

from collections.abc import Sequence

from ._window import Float, Window, for_each, per_target, read_window, window_total
from .aggregation import scaled, token_mean


def sum_of_rank_means(ranks: Sequence[Window]) -> list[Float]:
    """Weight of each target when every rank divides by its own count, and the number of ranks is multiplied in.

        w_r = 1 / N_r

    Reported in https://github.com/huggingface/transformers/issues/34373

    Args:
        ranks: [r][m][b] targets of row b in micro-batch m on rank r.

    Returns:
        One array per row, [n_b] weights, rank by rank; all together sum to R.

    Raises:
        ValueError: no rank, or a rank whose window ``token_mean`` refuses.
    """
    return for_each(token_mean, ranks, "ranks")


def times_ranks(window: Window, ranks: Sequence[Window]) -> list[Float]:
    """Weight of each target, on the rank where it ran, when the factor R of the loss meets no average over the ranks.

        w = R / N

    So it is too when the loss is multiplied by R twice: https://github.com/huggingface/transformers/issues/45994

    Args:
        window: [m][b] as in ``token_mean``, of all ranks, rank by rank.
        ranks: the same, one by one.

    Raises:
        ValueError: as ``token_mean``.
    """
    return scaled(token_mean(window), len(ranks))


def divided_by_ranks(window: Window, ranks: Sequence[Window]) -> list[Float]:
    """Weight of each target when a token mean over all ranks is averaged over them once more.

        w = 1 / (R N)

    Same arguments and errors as ``times_ranks``. Reported in https://github.com/meta-pytorch/torchtune/pull/2172
    """
    return scaled(token_mean(window), 1 / len(ranks))


def last_micro_batch_not_averaged(ranks: Sequence[Window]) -> list[Float]:
    """Weight of each target, on the rank where it ran, when the last micro-batch's gradient stays on its rank.

        w_m = 1 / N for m < M - 1, R / N for m = M - 1

    Argument and errors as ``sum_of_rank_means``, N the targets of all ranks.
    Reported in https://github.com/modelscope/FunASR/pull/3472
    """
    n_b, _ = read_window([rows for window in ranks for rows in window])
    mean = 1 / window_total(n_b, "n_b")
    weights: list[Float] = []
    for window in ranks:
        n_b, m_b = read_window(window)
        weights += per_target(n_b, mean * (1 + (len(ranks) - 1) * (m_b == m_b[-1])))
    return weights

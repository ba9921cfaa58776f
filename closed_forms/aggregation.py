"""Weight of every target token in the gradient of one optimizer step, for each way to aggregate.

The weight w_t is the coefficient of token t's own gradient of -log p in the gradient that the optimizer receives.
Targets are the scored tokens; a clean step is ``token_mean``.

    R ranks, M micro-batches per window, B_m rows in micro-batch m, B rows in the window,
    n_b targets of a row, n_m targets of a micro-batch, N targets of the window.

Examples:
    >>> [row.tolist() for row in token_mean([[1], [3]])]
    [[0.25], [0.25, 0.25, 0.25]]
    >>> [row.round(3).tolist() for row in mean_of_micro_batch_means([[1], [3]])]
    [[0.5], [0.167, 0.167, 0.167]]
"""

from collections.abc import Sequence

import numpy as np

from ._window import (
    Float,
    Window,
    for_each,
    micro_batch_totals,
    per_target,
    read_kept,
    read_window,
    window_total,
)


def token_mean(window: Window) -> list[Float]:
    """Weight of each target when all targets of the window are averaged at once.

        w = 1 / N

    What a step should do: https://huggingface.co/blog/gradient_accumulation

    Args:
        window: [m][b] targets of row b in micro-batch m. A row may have none.

    Returns:
        One array per row, [n_b] weights, micro-batch by micro-batch; all together sum to 1.

    Raises:
        ValueError: no micro-batch, a micro-batch without a row, a count that is not a whole number of at least 0,
            or no target at all.
    """
    n_b, _ = read_window(window)
    return per_target(n_b, 1 / window_total(n_b, "n_b"))


def mean_of_micro_batch_means(window: Window) -> list[Float]:
    """Weight of each target when the means of the micro-batches are averaged.

        w_m = 1 / (M n_m)

    Same argument and result as ``token_mean``. Reported in https://github.com/huggingface/transformers/issues/34191

    Raises:
        ValueError: as ``token_mean``, and when a micro-batch has no target.
    """
    n_b, m_b = read_window(window)
    n_m = micro_batch_totals(n_b, m_b)
    return per_target(n_b, 1 / (n_m.size * n_m[m_b]))


def sum_of_micro_batch_means(window: Window) -> list[Float]:
    """Weight of each target when the means of the micro-batches are added and nobody divides by M.

        w_m = 1 / n_m

    Same argument and errors as ``mean_of_micro_batch_means``; the weights sum to M.
    Reported in https://github.com/huggingface/transformers/issues/34263
    """
    n_b, m_b = read_window(window)
    return per_target(n_b, 1 / micro_batch_totals(n_b, m_b)[m_b])


def per_rank_mean(ranks: Sequence[Window]) -> list[Float]:
    """Weight of each target when every rank divides by its own count and the ranks are averaged.

        w_r = 1 / (R N_r)

    Reported in https://github.com/huggingface/transformers/issues/34242

    Args:
        ranks: [r][m][b] targets of row b in micro-batch m on rank r.

    Returns:
        One array per row, [n_b] weights, rank by rank; all together sum to 1.

    Raises:
        ValueError: no rank, or a rank whose window ``token_mean`` refuses.
    """
    return scaled(for_each(token_mean, ranks, "ranks"), 1 / len(ranks))


def per_rank_mean_of_micro_batch_means(ranks: Sequence[Window]) -> list[Float]:
    """Weight of each target when means of micro-batches are averaged within each rank, then over the ranks.

        w_rm = 1 / (R M_r n_rm)

    Same argument and result as ``per_rank_mean``. Reported in https://github.com/pytorch/torchtitan/issues/1842

    Raises:
        ValueError: no rank, or a rank whose window ``mean_of_micro_batch_means`` refuses.
    """
    return scaled(for_each(mean_of_micro_batch_means, ranks, "ranks"), 1 / len(ranks))


def per_sequence_mean(window: Window) -> list[Float]:
    """Weight of each target when every row is averaged by itself, then the rows.

        w_b = 1 / (B n_b)

    Same argument and result as ``token_mean``. Asked for in https://github.com/NVIDIA-NeMo/Speech/issues/8343

    Raises:
        ValueError: as ``token_mean``, and when a row has no target.
    """
    n_b, _ = read_window(window)
    if not n_b.all():
        raise ValueError(f"every row needs a target to divide by, got n_b={n_b.tolist()}: leave such rows out")
    return per_target(n_b, 1 / (n_b.size * n_b))


def per_sequence_mean_of_all(window: Window) -> list[Float]:
    """Weight of each target when every row is averaged by itself, then all rows, those without a target too.

        w_b = 1 / (B n_b)

    B counts every row of the window. Same argument and result as ``token_mean``. Source: the mean over rows in
    ``SDPOTrainer._compute_self_distillation_loss``, trl/experimental/sdpo/sdpo_trainer.py.

    Raises:
        ValueError: as ``token_mean``.
    """
    n_b, _ = read_window(window)
    return per_target(n_b, 1 / (n_b.size * np.maximum(n_b, 1)))


def token_sum(window: Window) -> list[Float]:
    """Weight of each target when nobody divides by anything.

        w = 1

    Same argument as ``token_mean``; the weights sum to N. Reported in https://github.com/pytorch/torchtitan/issues/2972

    Raises:
        ValueError: as ``token_mean``, but a window without any target is fine.
    """
    n_b, _ = read_window(window)
    return per_target(n_b, 1)


def short_window(window: Window, accumulation: int) -> list[Float]:
    """Weight of each target when a tail window of k micro-batches is divided by the configured number of them.

        w_m = 1 / (accumulation n_m)

    Window and errors as for ``mean_of_micro_batch_means``; the weights sum to k / accumulation.
    Reported in https://github.com/huggingface/transformers/issues/38837

    Args:
        accumulation: configured micro-batches per step, at least k.

    Raises:
        ValueError: accumulation is below k.
    """
    n_b, m_b = read_window(window)
    if accumulation < len(window):
        raise ValueError(f"accumulation={accumulation} must be at least {len(window)}, the micro-batches of the window")
    return per_target(n_b, 1 / (accumulation * micro_batch_totals(n_b, m_b)[m_b]))


def weighted_by_rows(window: Window) -> list[Float]:
    """Weight of each target when the means of the micro-batches are averaged by their number of rows.

        w_m = B_m / (B n_m)

    Same argument, result and errors as ``mean_of_micro_batch_means``.
    Discussed in https://github.com/mosaicml/composer/pull/3273
    """
    n_b, m_b = read_window(window)
    rows_m = np.bincount(m_b)
    return per_target(n_b, rows_m[m_b] / (n_b.size * micro_batch_totals(n_b, m_b)[m_b]))


def divided_twice(window: Window) -> list[Float]:
    """Weight of each target when a token mean is divided by the number of micro-batches once more.

        w = 1 / (M N)

    Same argument and errors as ``token_mean``; the weights sum to 1 / M.
    Reported in https://github.com/huggingface/transformers/issues/35808
    """
    return scaled(token_mean(window), 1 / len(window))


def scaled(weights: Sequence[Float], factor: float) -> list[Float]:
    """Weights of another form, all multiplied alike.

        w = factor w'

    With factor R, M or R M: https://github.com/huggingface/transformers/issues/47688

    Args:
        weights: one array per row, as any form returns them.
        factor: any finite number.

    Returns:
        One array per row; the sum is the factor times the sum before.

    Raises:
        ValueError: the factor is infinite or not a number.
    """
    if not np.isfinite(factor):
        raise ValueError(f"factor={factor} must be a finite number: nothing can be compared with infinite weights")
    return [np.asarray(row, dtype=np.float64) * factor for row in weights]


def targets_dropped(window: Window, dropped: Sequence[Sequence[bool]]) -> list[Float]:
    """Weight of each target when some are masked before the count, so that the rest is averaged.

        w_t = 0 if dropped_t else 1 / N', with N' the targets that are left

    Window and result as for ``token_mean``.
    End tokens masked as padding: https://github.com/huggingface/transformers/issues/23530

    Args:
        dropped: [b][n_b] True where a target is not scored.

    Raises:
        ValueError: as ``token_mean``; dropped is not one boolean per target of each row; no target is left.
    """
    n_b, _ = read_window(window)
    kept = read_kept(dropped, n_b)
    n_left = window_total(np.array([row.sum() for row in kept]), "targets left per row")
    return [row / n_left for row in kept]

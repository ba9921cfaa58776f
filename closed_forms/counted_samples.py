"""Weight of every target token when samples of a window are lost, repeated, or left from a step before.

Letters as in ``closed_forms.aggregation``; a clean step is its ``token_mean``.
"""

from collections.abc import Sequence

from ._window import Float, Window, for_each, per_target, read_counts, read_window, window_total
from .aggregation import token_mean


def first_micro_batches_only(window: Window, kept: int) -> list[Float]:
    """Weight of each target when the gradient of later micro-batches is lost after the division.

        w_m = 1 / N for m < kept, else 0

    Window and errors as for ``aggregation.token_mean``; the weights sum to the kept share of N.
    Lost by micro-batch index: https://github.com/deepspeedai/DeepSpeed/issues/6550

    Args:
        kept: micro-batches that count, 1 to M.

    Raises:
        ValueError: kept is not one of 1 to M.
    """
    n_b, m_b = read_window(window)
    if kept not in range(1, len(window) + 1):
        raise ValueError(f"kept={kept} must be one of 1 to {len(window)}, the micro-batches of the window")
    return per_target(n_b, (m_b < kept) / window_total(n_b, "n_b"))


def last_micro_batch_only(window: Window) -> list[Float]:
    """Weight of each target when every micro-batch overwrites the gradient of those before it.

        w_m = 1 / N for m = M - 1, else 0

    Same argument and errors as ``token_mean``; the weights sum to the last micro-batch's share of N.
    Reported in https://github.com/allenai/open-instruct/pull/1498
    """
    n_b, m_b = read_window(window)
    return per_target(n_b, (m_b == m_b[-1]) / window_total(n_b, "n_b"))


def repeated_samples(window: Window, times: Sequence[int]) -> list[Float]:
    """Weight of each target when a token mean counts some rows several times, or not at all.

        w_b = times_b / sum_b(times_b n_b)

    Window, result and errors as for ``token_mean``; w_b is the total over the copies, so that sum_b(w_b n_b) = 1.
    Rows repeated to level the ranks: https://github.com/huggingface/accelerate/issues/776

    Args:
        times: [b] how often each row of the window is counted.

    Raises:
        ValueError: times is not one whole number of at least 0 per row, or no target is left.
    """
    n_b, _ = read_window(window)
    times_b = read_counts(times, "times")
    if times_b.size != n_b.size:
        raise ValueError(f"times has {times_b.size} entries for {n_b.size} rows: give one number per row, 1 if clean")
    return per_target(n_b, times_b / window_total(times_b * n_b, "times_b * n_b"))


def carried_over(windows: Sequence[Window]) -> list[Float]:
    """Weight of each target in the last of several steps whose gradients were never set to zero.

        w_i = 1 / N_i in every window i up to the last

    Reported in https://github.com/meta-pytorch/torchforge/pull/71

    Args:
        windows: [i][m][b] targets of row b in micro-batch m of step i.

    Returns:
        One array per row, [n_b] weights, step by step; all together sum to the number of steps.

    Raises:
        ValueError: no window, or one that ``token_mean`` refuses.
    """
    return for_each(token_mean, windows, "windows")

"""Weight of every pair of an input and a target when labels are shifted once too often, or not at all.

A token is then the input of another target than the next one, so each row has two kinds of pairs: those that a clean
step scores, and those that a broken one does. Windows as in ``aggregation.token_mean``; N targets of the window, which
the divisor still counts as for the right shift.

>>> [pair.tolist() for pair in shifted_twice([[2]])]
[[0.5], [0.0, 0.0]]
"""

import numpy as np

from ._window import Counts, Float, Window, per_target, read_window, window_total


def shifted_twice(window: Window) -> list[Float]:
    """Weight of each pair when labels that are shifted already are shifted once more.

        w(x_t, x_t+2) = 1 / N        w(x_t, x_t+1) = 0

    Reported in https://github.com/huggingface/transformers/issues/47394

    Args:
        window: [m][b] targets of row b in micro-batch m, one row each: in a flattened batch of several, the last
            position of a row borrows a target of the next one.

    Returns:
        One array per row, [n_b - 1] weights of its tokens and those two places on, or empty; then one per row, [n_b]
        weights of its tokens and the next ones, all of them 0.

    Raises:
        ValueError: as ``token_mean``, and when a micro-batch has several rows.
    """
    n_b, _ = read_window(window)
    sizes = [len(rows) for rows in window]
    if max(sizes) > 1:
        raise ValueError(f"every micro-batch needs a single row, got rows={sizes}: several lend each other targets")
    return _instead(np.maximum(n_b - 1, 0), n_b)


def not_shifted(window: Window) -> list[Float]:
    """Weight of each pair when labels are not shifted, so that every token is trained to predict itself.

        w(x_t, x_t) = 1 / N        w(x_t, x_t+1) = 0

    Reported in https://github.com/macrocosm-os/pretraining/pull/64

    Args:
        window: as in ``token_mean``.

    Returns:
        One array per row, [n_b + 1] weights of its tokens and themselves; then one per row, [n_b] weights of its tokens
        and the next ones, all of them 0.

    Raises:
        ValueError: as ``token_mean``.
    """
    n_b, _ = read_window(window)
    return _instead(n_b + 1, n_b)


def _instead(wrong_b: Counts, n_b: Counts) -> list[Float]:
    return per_target(wrong_b, 1 / window_total(n_b, "n_b")) + per_target(n_b, 0)

"""Weight of every target token when more is counted than what is scored.

Letters as in ``aggregation``. Both keep the weights even and too small: only an absolute comparison shows them.

>>> [row.round(3).tolist() for row in counted_before_shift([[1], [3]])]
[[0.167], [0.167, 0.167, 0.167]]
"""

from ._window import Float, Window, per_target, read_counts, read_window, window_total


def padding_scored(window: Window, padding: int) -> list[Float]:
    """Weight of each target when labels of padding are not masked, so that padding is scored and counted like a target.

        w = 1 / (N + P)

    Window and result as for ``token_mean``; the weights sum to N / (N + P), and the rest lies on the padding.
    Reported in https://github.com/axolotl-ai-cloud/axolotl/pull/2227

    Args:
        padding: P, padding positions of the window that are scored.

    Raises:
        ValueError: as ``token_mean``; padding is not a whole number of at least 0.
    """
    n_b, _ = read_window(window)
    return per_target(n_b, 1 / (window_total(n_b, "n_b") + read_counts([padding], "padding").sum()))


def counted_before_shift(window: Window) -> list[Float]:
    """Weight of each target when the first label of every row is counted, which no token predicts.

        w = 1 / (N + B)

    Same argument and errors as ``token_mean``; the weights sum to N / (N + B).
    Reported in https://github.com/huggingface/transformers/pull/46204
    """
    n_b, _ = read_window(window)
    return per_target(n_b, 1 / (window_total(n_b, "n_b") + n_b.size))

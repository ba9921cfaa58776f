"""Weight of every target token when the cross-entropy itself is wrong: which targets it scores, what it hands back.

Windows as in ``aggregation.token_mean``.
"""

from ._window import Float, Window, per_target, read_counts, read_window, window_total


def ignored_scored(window: Window, positions: int) -> list[Float]:
    """Weight of each target when the mean takes in every position, whether its label says to ignore it or not.

        w = 1 / T

    Reported in https://github.com/lucidrains/DALLE-pytorch/issues/57

    Args:
        window: [m][b] targets of row b in the only micro-batch m.
        positions: T, rows of the batch times its padded length.

    Returns:
        One array per row, [n_b] weights; all together sum to N / T, and the rest lies on what should be ignored.

    Raises:
        ValueError: several micro-batches, or as ``token_mean``; positions is no whole number, or below N.
    """
    n_b, _ = read_window(window)
    if len(window) > 1:
        raise ValueError(f"a mean is taken over one micro-batch, got {len(window)}: evaluate each by itself")
    (t,) = read_counts([positions], "positions")
    if t < window_total(n_b, "n_b"):
        raise ValueError(f"positions={t} must hold the {n_b.sum()} targets of the window: count every position")
    return per_target(n_b, 1 / t)


def first_upstream(window: Window) -> list[Float]:
    """Weight of each target when a mean over rows of row means gets the first row's factor at every token.

        w_b = 1 / (B n_0)      where 1 / (B n_b) was due

    A kernel that reads one number of the gradient it is handed: https://github.com/linkedin/Liger-Kernel/issues/968

    Args:
        window: as in ``token_mean``, of one micro-batch.

    Returns:
        One array per row, [n_b] weights; all together sum to N / (B n_0).

    Raises:
        ValueError: several micro-batches, or as ``token_mean``; the first row has no target.
    """
    n_b, _ = read_window(window)
    if len(window) > 1:
        raise ValueError(f"a kernel sees one micro-batch, got {len(window)}: evaluate each by itself")
    return per_target(n_b, 1 / (n_b.size * window_total(n_b[:1], "n_b of the first row")))

"""Weight of every target token under label smoothing, as it is and when the smoothed loss is reduced wrongly.

Letters and windows as in ``aggregation``. The weight of a token is the coefficient of its own -log p; the share epsilon
that is spread over the vocabulary is no token's own.

>>> [row.tolist() for row in smoothed([[1, 3]], 0.5)]
[[0.125], [0.125, 0.125, 0.125]]
"""

import numpy as np

from ._read import between
from ._window import Float, Window, per_target, read_window
from .aggregation import scaled, sum_of_micro_batch_means, token_mean, token_sum


def smoothed(window: Window, epsilon: float) -> list[Float]:
    """Weight of each target when the smoothed loss is averaged over the window.

        w = (1 - epsilon) / N

    Source: ``LabelSmoother`` in transformers/trainer_pt_utils.py.

    Args:
        window: as in ``aggregation.token_mean``.
        epsilon: label_smoothing_factor, 0 to 1.

    Raises:
        ValueError: as ``token_mean``; epsilon is outside 0 to 1.
    """
    return _own(token_mean(window), epsilon)


def smoothed_by_micro_batch(window: Window, epsilon: float) -> list[Float]:
    """As ``smoothed``, each micro-batch over its own targets, and nobody divides by M: w = (1 - epsilon) / n_m.

    Source: https://github.com/huggingface/transformers/issues/46731
    """
    return _own(sum_of_micro_batch_means(window), epsilon)


def smoothed_sum(window: Window, epsilon: float) -> list[Float]:
    """As ``smoothed``, divided by nothing: w = 1 - epsilon. Source: https://github.com/huggingface/transformers/issues/7546"""
    return _own(token_sum(window), epsilon)


def smoothed_over_positions(window: Window, epsilon: float) -> list[Float]:
    """As ``smoothed_by_micro_batch``, over all positions of the micro-batch: w = (1 - epsilon) / (B_m max_b n_b).

    Source: https://github.com/huggingface/transformers/pull/5919
    """
    n_b, m_b = read_window(window)
    positions_m = np.array([len(rows) * max(rows) for rows in window])
    return _own(per_target(n_b, 1 / positions_m[m_b]), epsilon)


def _own(weights: list[Float], epsilon: float) -> list[Float]:
    return scaled(weights, 1 - between(0, epsilon, 1, "epsilon"))

"""Weights of one window of TRL's trainers, row by row, as they are and under publicly reported faults.

Axes: m = micro-batch, K of them; b = row of it, t = token. The weight is -dL/dlog p, and each function returns the rows
of all micro-batches in turn. The policy is the one that generated, and no KL is penalized. The losses: ``preference``,
``unpaired``, ``policy_tokens``.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import preference
from ._window import Float
from .unpaired import kto

Rows = Sequence[Sequence[Sequence[bool]]]


def by_window(masks: Rows, advantage: Sequence[ArrayLike]) -> list[Float]:
    """Weights under dapo, S = K.

        w_mbt = m_mbt A_mb / N,   N = sum of all m

    Args:
        masks: [m][b][t] 1 where scored; advantage: [m][b].

    Returns:
        [sum b][t].
    """
    return shared_out(masks, advantage, [sum(np.sum(row) for rows in masks for row in rows)] * len(masks))


def by_window_of_groups(masks: Rows, group_advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``by_window``, the rewards scaled by the deviation of their group where that of the batch was asked for.

    Source: https://github.com/huggingface/trl/issues/3991
    """
    return by_window(masks, group_advantage)


def by_window_of_neighbours(masks: Rows, neighbours_advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``by_window``, the groups cut from completions in another order: the first of all prompts, then the second.

    Source: https://github.com/StarsfieldAI/R1-V/issues/67
    """
    return by_window(masks, neighbours_advantage)


def by_micro_batches(masks: Rows, advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``by_window``, but each micro-batch is averaged by itself: w = m A / (N_m K).

    Source: https://github.com/huggingface/trl/pull/3938
    """
    return shared_out(masks, advantage, [len(masks) * sum(np.sum(row) for row in rows) for rows in masks])


def by_all_generated(masks: Rows, advantage: Sequence[ArrayLike], generated: float) -> list[Float]:
    """As ``by_window``, but N counts the tokens of masked completions too.

    Source: https://github.com/huggingface/trl/issues/6369
    """
    return shared_out(masks, advantage, [generated] * len(masks))


def by_all_slots(masks: Rows, advantage: Sequence[ArrayLike], slots: float) -> list[Float]:
    """As ``by_window``, but N counts every slot of the padded completions: w = m A / (B T).

    Source: https://github.com/NovaSky-AI/SkyRL/pull/462
    """
    return shared_out(masks, advantage, [slots] * len(masks))


def robust_pairs(
    masks: Rows, scores: Sequence[tuple[ArrayLike, ArrayLike]], beta: float, epsilon: float
) -> list[Float]:
    """Weights under DPO's robust loss: ``preference.robust`` / K at each token of its row.

    Args:
        masks: [m][2 P][t] 1 where scored, the chosen rows first; scores: [m] two arrays [P] of log-ratios.
        beta, epsilon: as in ``preference.robust``.
    """
    weights = [np.concatenate(preference.robust(x, y, beta, epsilon)) for x, y in scores]
    return shared_out(masks, weights, [len(masks)] * len(masks))


def robust_pairs_added_up(
    masks: Rows, scores: Sequence[tuple[ArrayLike, ArrayLike]], beta: float, epsilon: float
) -> list[Float]:
    """As ``robust_pairs``, not divided by K. Source: https://github.com/huggingface/trl/pull/2615"""
    return [len(masks) * row for row in robust_pairs(masks, scores, beta, epsilon)]


def pairs_without_smoothing(masks: Rows, scores: Sequence[tuple[ArrayLike, ArrayLike]], beta: float) -> list[Float]:
    """As ``robust_pairs`` with epsilon = 0. Source: https://github.com/huggingface/trl/pull/7062"""
    return robust_pairs(masks, scores, beta, 0.0)


def kto_rows(
    masks: Rows,
    ratios: Sequence[ArrayLike],
    desirable: Sequence[ArrayLike],
    baselines: Sequence[float],
    beta: float,
    gain: float,
    loss: float,
) -> list[Float]:
    """Weights under KTO: ``unpaired.kto`` / K at each token of its row; ratios, marks and baseline by micro-batch."""
    weights = [kto(u, d, beta, z, gain, loss) for u, d, z in zip(ratios, desirable, baselines)]
    return shared_out(masks, weights, [len(masks)] * len(masks))


def kto_rows_of_one_weight(
    masks: Rows, ratios: Sequence[ArrayLike], desirable: Sequence[ArrayLike], baselines: Sequence[float], beta: float
) -> list[Float]:
    """As ``kto_rows`` with both class weights 1. Source: https://github.com/huggingface/trl/issues/7063"""
    return kto_rows(masks, ratios, desirable, baselines, beta, 1.0, 1.0)


def shared_out(masks: Rows, weights: Sequence[ArrayLike], denominators: Sequence[float]) -> list[Float]:
    """Each row's marks times its weight over the denominator of its micro-batch."""
    return [
        np.asarray(row, dtype=np.float64) * weight / denominator
        for rows, row_weights, denominator in zip(masks, weights, denominators)
        for row, weight in zip(rows, np.asarray(row_weights, dtype=np.float64))
    ]

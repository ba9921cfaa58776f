"""Weights of one window of GRPO when its KL penalty or its clipping is wrong.

Axes, weight, q and u as in ``drifted_rollouts``.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float
from .completions import Rows, by_window
from .drifted_rollouts import Tokens, penalized
from .rollouts import by_completions


def penalty_rewarded(masks: Rows, advantage: Sequence[ArrayLike], drifts: Tokens, beta: float) -> list[Float]:
    """As ``penalized`` with the other sign: w = m (A + beta u) / N. Source: https://github.com/qiancheng0/ToolRL/issues/52"""
    plain = by_window(masks, advantage)
    return [2 * row - other for row, other in zip(plain, penalized(masks, advantage, drifts, beta))]


def penalty_at_tools(
    masks: Rows, advantage: Sequence[ArrayLike], drifts: Tokens, beta: float, completions: Rows
) -> list[Float]:
    """As ``penalized``, and -beta u / N at the tokens that a tool wrote, too.

    Source: https://github.com/PeterGriffinJin/Search-R1/pull/21

    Args:
        completions: [m][b][t] 1 where the completion has a token.
    """
    n = sum(np.sum(row) for rows in masks for row in rows)
    drifted = [
        -beta * (np.asarray(row, dtype=np.float64) - np.asarray(mask)) * np.asarray(u) / n
        for rows, m_b, u_b in zip(completions, masks, drifts)
        for row, mask, u in zip(rows, m_b, u_b)
    ]
    return [row + more for row, more in zip(penalized(masks, advantage, drifts, beta), drifted)]


def penalty_of_inverse_ratio(masks: Rows, advantage: Sequence[ArrayLike], drifts: Tokens, beta: float) -> list[Float]:
    """As ``penalized`` with k(-u) for k(u): w = m (A - beta (2 e^u - u - 2)) / N, for d(e^q k(-u)) / dl at q = 0.

    Source: https://github.com/walkinglabs/hands-on-modern-rl/issues/27
    """
    n = sum(np.sum(row) for rows in masks for row in rows)
    plain = by_window(masks, advantage)
    marks = [row for rows in masks for row in rows]
    terms = [2 * np.exp(u) - np.asarray(u) - 2 for u_b in drifts for u in u_b]
    return [row - beta * np.asarray(mark) * term / n for row, mark, term in zip(plain, marks, terms)]


def clipped_before_product(masks: Rows, advantage: Sequence[ArrayLike], ratios: Tokens, high: float) -> list[Float]:
    """Weights when the smaller of the ratio and its clipped self is taken, whatever the sign of the advantage.

        w_mbt = m_mbt e^q A_mb [e^q <= 1 + high] / (L_mb B K)

    Source: https://github.com/takuseno/ppo/issues/3
    """
    factors = [np.where(np.exp(q) <= 1 + high, np.exp(q), 0) for q_b in ratios for q in q_b]
    return [row * factor for row, factor in zip(by_completions(masks, advantage), factors)]

"""Weights of one window of GRPO and RLOO on the policy that generated, and under publicly reported faults.

Axes and weight as in ``completions``: m = micro-batch, K of them; b = completion of it, B of them; t = token.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float
from .completions import Rows, by_window, shared_out


def by_completions(masks: Rows, advantage: Sequence[ArrayLike]) -> list[Float]:
    """Weights when each completion is averaged over its own tokens, where one mean over the window was due.

        w_mbt = m_mbt A_mb / (L_mb B K)

    Source: https://github.com/huggingface/trl/pull/3256

    Args:
        masks: [m][b][t] 1 where scored; advantage: [m][b].

    Returns:
        [sum b][t].
    """
    own = [[a / max(np.sum(row), 1) for a, row in zip(np.ravel(a_b), rows)] for a_b, rows in zip(advantage, masks)]
    return by_sequences(masks, own)


def by_sequences(masks: Rows, advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``by_completions``, but not averaged over the tokens: w = m A / (B K), as RLOO's.

    Source: https://github.com/PrimeIntellect-ai/prime-rl/pull/2034
    """
    return shared_out(masks, advantage, [len(rows) * len(masks) for rows in masks])


def by_sequences_of_normalized(masks: Rows, normalized_advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``by_sequences`` with advantages over their deviation, which was not asked for.

    Source: https://github.com/OpenRLHF/OpenRLHF/pull/553
    """
    return by_sequences(masks, normalized_advantage)


def by_window_divided_again(masks: Rows, advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``completions.by_window``, once more over K. Source: https://github.com/modelscope/ms-swift/issues/10117"""
    return [row / len(masks) for row in by_window(masks, advantage)]


def by_window_of_shifted(masks: Rows, shifted_advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``completions.by_window``, each completion with the reward of the one before it.

    Source: https://github.com/areal-project/AReaL/issues/1419
    """
    return by_window(masks, shifted_advantage)


def by_window_of_zeros(masks: Rows, zeroed_advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``completions.by_window``, a reward that is missing counted as 0.

    Source: https://github.com/huggingface/trl/pull/5902
    """
    return by_window(masks, zeroed_advantage)


def by_slots(masks: Rows, advantage: Sequence[ArrayLike], longest: float) -> list[Float]:
    """Weights under dr_grpo: w = m A / (B longest K); longest is max_completion_length."""
    return [row / longest for row in by_sequences(masks, advantage)]


def by_widths(masks: Rows, advantage: Sequence[ArrayLike], widths: Sequence[float]) -> list[Float]:
    """As ``by_slots``, each micro-batch over its own padded width [m]; in TRL as verl had it.

    Source: https://github.com/verl-project/verl/issues/3741
    """
    return shared_out(masks, advantage, [len(rows) * width * len(masks) for rows, width in zip(masks, widths)])


def by_slots_of_scaled(masks: Rows, scaled_advantage: Sequence[ArrayLike], longest: float) -> list[Float]:
    """As ``by_slots``, the rewards over the deviation of their group, which was not asked for.

    Source: https://arxiv.org/html/2503.20783v1, section 3.1
    """
    return by_slots(masks, scaled_advantage, longest)


def by_window_capped(masks: Rows, advantage: Sequence[ArrayLike], cap: float) -> list[Float]:
    """Weights under cispo, S = K: ``completions.by_window`` times min(1, cap)."""
    return [min(1.0, cap) * row for row in by_window(masks, advantage)]


def by_window_capped_above_one(masks: Rows, advantage: Sequence[ArrayLike], cap: float) -> list[Float]:
    """As ``by_window_capped``, the cap taken for its distance from 1. Source: https://github.com/NovaSky-AI/SkyRL/pull/1928"""
    return by_window_capped(masks, advantage, 1 + cap)

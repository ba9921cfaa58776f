"""Weights of one window of GRPO away from the old policy or the reference, and under publicly reported faults.

Axes and weight as in ``completions``. q = log pi - log pi_old, u = log pi - log pi_ref, of each token.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import kl, policy
from ._window import Float
from .completions import Rows
from .rollouts import by_completions

Tokens = Sequence[Sequence[ArrayLike]]
Term = Callable[[Float], Float]


def clipped_completions(
    masks: Rows, advantage: Sequence[ArrayLike], ratios: Tokens, low: float, high: float
) -> list[Float]:
    """Weights under the loss type grpo, clipped.

        w_mbt = m_mbt c_mbt / (L_mb B K)

    Args:
        masks: [m][b][t] 1 where scored; advantage: [m][b]; ratios: [m][b][t] q.
        low, high: as in ``policy.clipped``, which gives c.

    Returns:
        [sum b][t].
    """
    factors = [
        policy.clipped(q, a, low, high)
        for q_b, a_b in zip(ratios, advantage)
        for q, a in zip(q_b, np.asarray(a_b, dtype=np.float64))
    ]
    ones = [np.ones(len(rows)) for rows in masks]
    return [share * factor for share, factor in zip(by_completions(masks, ones), factors)]


def of_current_policy(masks: Rows, advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``clipped_completions`` with every q = 0: the policy is taken for the one that generated.

    Source: https://github.com/unslothai/unsloth-zoo/pull/832
    """
    return by_completions(masks, advantage)


def penalized(masks: Rows, advantage: Sequence[ArrayLike], drifts: Tokens, beta: float) -> list[Float]:
    """Weights under dapo, S = K, on the policy that generated, with the corrected KL.

        w_mbt = m_mbt (A_mb - beta u_mbt) / N

    Args:
        masks, advantage: as in ``clipped_completions``; drifts: [m][b][t] u.
        beta: of the KL.
    """
    return _over_window(masks, advantage, drifts, lambda u: kl.corrected(u, np.zeros_like(u), beta), masks)


def penalized_by_k3(masks: Rows, advantage: Sequence[ArrayLike], drifts: Tokens, beta: float) -> list[Float]:
    """As ``penalized`` with the gradient of the estimator itself: w = m (A - beta (1 - e^-u)) / N.

    Source: https://github.com/huggingface/trl/issues/4967
    """
    return _over_window(masks, advantage, drifts, lambda u: kl.plain(u, beta), masks)


def penalized_with_tools(
    masks: Rows, advantage: Sequence[ArrayLike], drifts: Tokens, beta: float, completions: Rows
) -> list[Float]:
    """As ``penalized`` at every token of the completion, those that a tool wrote included, which N leaves out.

    Source: https://github.com/huggingface/trl/pull/4975

    Args:
        completions: [m][b][t] 1 where the completion has a token.
    """
    return _over_window(masks, advantage, drifts, lambda u: kl.corrected(u, np.zeros_like(u), beta), completions)


def _over_window(masks: Rows, advantage: Sequence[ArrayLike], drifts: Tokens, term: Term, at: Rows) -> list[Float]:
    n = sum(np.sum(row) for rows in masks for row in rows)
    return [
        np.asarray(row, dtype=np.float64) * (a + term(np.asarray(u, dtype=np.float64))) / n
        for rows, a_b, u_b in zip(at, advantage, drifts)
        for row, a, u in zip(rows, np.asarray(a_b, dtype=np.float64), u_b)
    ]

"""Weights of one window of DPO when the completions of its pairs are scored wrongly.

Axes and weight as in ``pair_rows``: P pairs of a micro-batch, the chosen rows first; T = width of its padded rows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import preference
from ._bfloat import bfloat16
from ._window import Float
from .completions import Rows, robust_pairs, shared_out
from .pair_rows import Scores, sigmoid_pairs

Tokens = Sequence[Sequence[ArrayLike]]


def robust_pairs_of_means(masks: Rows, scores: Scores, beta: float, epsilon: float) -> list[Float]:
    """As ``completions.robust_pairs``, each score a mean over the T padded targets: w = robust(x / T, y / T) / (T K).

    Source: https://github.com/jingyaogong/minimind/issues/298
    """
    widths = [max(len(row) for row in rows) for rows in masks]
    means = [(np.asarray(x) / t, np.asarray(y) / t) for (x, y), t in zip(scores, widths)]
    of_row = [t for rows, t in zip(masks, widths) for _ in rows]
    return [row / t for row, t in zip(robust_pairs(masks, means, beta, epsilon), of_row)]


def robust_pairs_without_reference(masks: Rows, sums: Scores, beta: float, epsilon: float) -> list[Float]:
    """As ``completions.robust_pairs``, scored by the policy's own log-probabilities.

    Source: https://github.com/linkedin/Liger-Kernel/pull/387
    """
    return robust_pairs(masks, sums, beta, epsilon)


def robust_pairs_with_prompts(masks: Rows, scores: Scores, beta: float, epsilon: float) -> list[Float]:
    """As ``completions.robust_pairs`` at every token of a row: the margin is the same, as both rows have one prompt.

    Source: https://github.com/OpenRLHF/OpenRLHF/issues/235
    """
    return robust_pairs([[[True] * len(row) for row in rows] for rows in masks], scores, beta, epsilon)


def ipo_pairs_of_sums(masks: Rows, scores: Scores, beta: float) -> list[Float]:
    """``preference.ipo`` of the sums over the completions, / K, where ipo's scores are means.

    Source: https://github.com/huggingface/trl/pull/1265
    """
    weights = [np.concatenate(preference.ipo(x, y, beta)) for x, y in scores]
    return shared_out(masks, weights, [len(masks)] * len(masks))


def sigmoid_pairs_in_bfloat16(masks: Rows, policy: Tokens, reference: Tokens, beta: float) -> list[Float]:
    """As ``pair_rows.sigmoid_pairs``, every log-probability rounded to 8 bits before the sum, and its weight after.

    Source: https://github.com/genlm/genlm-backend/pull/66

    Args:
        masks, beta: as in ``pair_rows.sigmoid_pairs``.
        policy, reference: [m][2 P][t] log-probabilities of the targets.
    """
    return _rounded(masks, policy, [[bfloat16(row) for row in rows] for rows in reference], beta)


def sigmoid_pairs_against_exact_reference(masks: Rows, policy: Tokens, reference: Tokens, beta: float) -> list[Float]:
    """As ``sigmoid_pairs_in_bfloat16``, but the reference is not rounded.

    Source: https://github.com/huggingface/trl/pull/7084
    """
    return _rounded(masks, policy, reference, beta)


def _rounded(masks: Rows, policy: Tokens, reference: Tokens, beta: float) -> list[Float]:
    scores = []
    for m, p, r in zip(masks, policy, reference):
        u = [float(np.dot(row, bfloat16(own) - np.asarray(base))) for row, own, base in zip(m, p, r)]
        scores.append((u[: len(u) // 2], u[len(u) // 2 :]))
    return [bfloat16(row) for row in sigmoid_pairs(masks, scores, beta)]

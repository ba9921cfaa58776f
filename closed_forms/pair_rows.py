"""Weights of one window of DPO and KTO, row by row, as they are and under publicly reported faults.

Axes and weight as in ``completions``: P pairs of a micro-batch, the chosen rows first. D = x - y of the scores.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import preference, reference_free
from ._window import Float
from .completions import Rows, kto_rows, shared_out

Scores = Sequence[tuple[ArrayLike, ArrayLike]]


def sigmoid_pairs(masks: Rows, scores: Scores, beta: float) -> list[Float]:
    """Weights under DPO's sigmoid loss: ``preference.sigmoid`` / K at each token of its row.

    Args:
        masks: [m][2 P][t] 1 where scored; scores: [m] two arrays [P] of log-ratios to the reference.
        beta: as in ``preference.sigmoid``.
    """
    weights = [np.concatenate(preference.sigmoid(x, y, beta)) for x, y in scores]
    return shared_out(masks, weights, [len(masks)] * len(masks))


def sigmoid_pairs_of_base(masks: Rows, base_scores: Scores, beta: float) -> list[Float]:
    """As ``sigmoid_pairs``, with log-ratios to the model without the adapter from which training went on.

    Source: https://github.com/huggingface/trl/issues/1340
    """
    return sigmoid_pairs(masks, base_scores, beta)


def no_pairs(masks: Rows) -> list[Float]:
    """A weight of 0 at every token. Source: https://github.com/unslothai/unsloth/issues/5230"""
    return [np.zeros(len(row)) for rows in masks for row in rows]


def ipo_pairs(masks: Rows, scores: Scores, beta: float) -> list[Float]:
    """Weights under DPO's ipo: ``preference.ipo`` of the scores over the lengths of the completions, / (L K)."""
    halves = [np.split(np.array([float(np.sum(row)) for row in rows]), 2) for rows in masks]
    weights = [
        np.concatenate(preference.ipo(np.asarray(x) / n_c, np.asarray(y) / n_r, beta)) / np.concatenate([n_c, n_r])
        for (x, y), (n_c, n_r) in zip(scores, halves)
    ]
    return shared_out(masks, weights, [len(masks)] * len(masks))


def ipo_pairs_of_sigmoid(masks: Rows, scores: Scores, beta: float) -> list[Float]:
    """``sigmoid_pairs`` where ipo was asked for. Source: https://github.com/modelscope/ms-swift/pull/10167"""
    return sigmoid_pairs(masks, scores, beta)


def ipo_pairs_over_configured(masks: Rows, scores: Scores, beta: float, accumulation: float) -> list[Float]:
    """As ``ipo_pairs``, over the configured number of micro-batches where the window has K of them.

    Source: https://github.com/modelscope/ms-swift/issues/10084
    """
    return [row * len(masks) / accumulation for row in ipo_pairs(masks, scores, beta)]


def pairs_with_answers(masks: Rows, scores: Scores, beta: float) -> list[Float]:
    """Weights under DPO's sigmoid and sft: ``sigmoid_pairs`` + m / (N_c K) at the N_c chosen tokens of each m."""
    return _with_answers(masks, scores, beta, 1)


def pairs_with_answers_averaged_twice(masks: Rows, scores: Scores, beta: float) -> list[Float]:
    """As ``pairs_with_answers`` with N_c squared. Source: https://github.com/hiyouga/LlamaFactory/pull/6722"""
    return _with_answers(masks, scores, beta, 2)


def pairs_with_light_answers(masks: Rows, scores: Scores, beta: float, share: float) -> list[Float]:
    """Weights under DPO's sigmoid, and sft with a weight a of its own: ``sigmoid_pairs`` + a m / (N_c K)."""
    return [pair + share * row for pair, row in zip(sigmoid_pairs(masks, scores, beta), _answers(masks, 1))]


def light_pairs_with_answers(masks: Rows, scores: Scores, beta: float, share: float) -> list[Float]:
    """As ``pairs_with_light_answers`` with a before the pairs: a ``sigmoid_pairs`` + m / (N_c K).

    Source: https://github.com/huggingface/trl/issues/1868
    """
    return [share * pair + row for pair, row in zip(sigmoid_pairs(masks, scores, beta), _answers(masks, 1))]


def simpo_pairs(masks: Rows, sums: Scores, beta: float, gamma: float) -> list[Float]:
    """Weights under SimPO: ``reference_free.simpo`` of the mean log-probabilities, / (L K).

    Args:
        masks: as in ``sigmoid_pairs``; sums: [m] two arrays [P] of the completions' log-probabilities.
        beta, gamma: as in ``reference_free.simpo``.
    """
    weights = []
    for rows, (x, y) in zip(masks, sums):
        n_c, n_r = np.split(np.array([float(np.sum(row)) for row in rows]), 2)
        w_c, w_r = reference_free.simpo(np.asarray(x) / n_c, np.asarray(y) / n_r, beta, gamma, 0.0)
        weights.append(np.concatenate([w_c / n_c, w_r / n_r]))
    return shared_out(masks, weights, [len(masks)] * len(masks))


def simpo_pairs_with_answers(masks: Rows, sums: Scores, beta: float, gamma: float) -> list[Float]:
    """As ``simpo_pairs`` + m / (N_c K) at the chosen tokens. Source: https://github.com/huggingface/trl/pull/1760"""
    pairs = simpo_pairs(masks, sums, beta, gamma)
    return [pair + share for pair, share in zip(pairs, _answers(masks, 1))]


def simpo_pairs_of_sums(masks: Rows, sums: Scores, beta: float) -> list[Float]:
    """``sigmoid_pairs`` of the sums where SimPO was asked for. Source: https://github.com/huggingface/trl/pull/5837"""
    return sigmoid_pairs(masks, sums, beta)


def kto_rows_added_up(
    masks: Rows,
    ratios: Sequence[ArrayLike],
    desirable: Sequence[ArrayLike],
    baselines: Sequence[float],
    beta: float,
    gain: float,
    loss: float,
) -> list[Float]:
    """As ``completions.kto_rows``, not divided by K. Source: https://github.com/hiyouga/LlamaFactory/pull/5852"""
    return [len(masks) * row for row in kto_rows(masks, ratios, desirable, baselines, beta, gain, loss)]


def kto_rows_of_window(
    masks: Rows,
    ratios: Sequence[ArrayLike],
    desirable: Sequence[ArrayLike],
    window_baselines: Sequence[float],
    beta: float,
    gain: float,
    loss: float,
) -> list[Float]:
    """As ``completions.kto_rows``, the baselines from completions of the micro-batch before.

    Source: https://github.com/huggingface/trl/pull/2153
    """
    return kto_rows(masks, ratios, desirable, window_baselines, beta, gain, loss)


def _with_answers(masks: Rows, scores: Scores, beta: float, power: int) -> list[Float]:
    return [pair + share for pair, share in zip(sigmoid_pairs(masks, scores, beta), _answers(masks, power))]


def _answers(masks: Rows, power: int) -> list[Float]:
    counts = [sum(float(np.sum(row)) for row in rows[: len(rows) // 2]) for rows in masks]
    chosen = [np.arange(len(rows)) < len(rows) // 2 for rows in masks]
    return shared_out(masks, chosen, [count**power * len(masks) for count in counts])

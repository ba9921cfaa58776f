"""Weights of one window of TRL's SFTTrainer, row by row, as they are and under publicly reported faults.

Axes and weight as in ``completions``; N = scored targets of the window, N_m of micro-batch m.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float
from .completions import Rows, by_micro_batches, by_window


def targets(masks: Rows) -> list[Float]:
    """Weights of the targets, [m][b][t] 1 where scored: w = m / N."""
    return by_window(masks, [np.ones(len(rows)) for rows in masks])


def targets_of_all_turns(turns_unmasked: Rows) -> list[Float]:
    """As ``targets``, the assistant's mask lost. Source: https://github.com/huggingface/trl/issues/3728"""
    return targets(turns_unmasked)


def targets_with_prompts(prompts_unmasked: Rows) -> list[Float]:
    """As ``targets``, the completion's mask lost. Source: https://github.com/huggingface/trl/issues/3781"""
    return targets(prompts_unmasked)


def targets_without_ends(masks: Rows, ends: Rows) -> list[Float]:
    """As ``targets`` without the end of sequence, [m][b][t] 1 where it stands.

    Source: https://github.com/huggingface/trl/issues/976
    """
    return targets(
        [[np.logical_and(row, np.logical_not(end)).tolist() for row, end in zip(*m)] for m in zip(masks, ends)]
    )


def targets_without_first(masks: Rows) -> list[Float]:
    """As ``targets`` without the first scored one of each row. Source: https://github.com/OpenRLHF/OpenRLHF/issues/973"""
    return targets([[(np.logical_and(row, np.cumsum(row) > 1)).tolist() for row in rows] for rows in masks])


def targets_of_micro_batches(masks: Rows) -> list[Float]:
    """As ``targets`` over the micro-batch's own: w = m / N_m. Source: https://github.com/linkedin/Liger-Kernel/issues/802"""
    ones = [np.ones(len(rows)) for rows in masks]
    return [len(masks) * row for row in by_micro_batches(masks, ones)]


def targets_of_probability(masks: Rows, log_p: Sequence[Sequence[ArrayLike]]) -> list[Float]:
    """Weights under dynamic fine-tuning, whose probability carries no gradient (``supervised.dft``).

        w_mbt = m_mbt p_mbt / N

    Args:
        masks: [m][b][t] 1 where scored; log_p: [m][b][t] log p of each token, read where scored.

    Returns:
        [sum b][t].
    """
    return _times(targets(masks), log_p, np.exp)


def targets_of_differentiated_probability(masks: Rows, log_p: Sequence[Sequence[ArrayLike]]) -> list[Float]:
    """As ``targets_of_probability``, p differentiated too: w = m p (1 + log p) / N, below 0 where p < 1/e.

    Source: https://github.com/modelscope/twinkle/pull/291
    """
    return _times(targets(masks), log_p, lambda log_t: np.exp(log_t) * (1 + log_t))


def _times(weights: list[Float], log_p: Sequence[Sequence[ArrayLike]], factor: Callable[[Float], Float]) -> list[Float]:
    logs = [np.asarray(row, dtype=np.float64) for rows in log_p for row in rows]
    return [np.where(w != 0, w * factor(log_t), 0.0) for w, log_t in zip(weights, logs)]

"""Weights of one window of TRL's SFTTrainer, row by row, as they are and under publicly reported faults.

Axes and weight as in ``completions``; N = scored targets of the window, N_m of micro-batch m.
"""

import numpy as np

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

"""Weights of one window of a distillation, as shares of each token's own gradient, when the divisor is wrong.

Axes as in ``completions``: K micro-batches of B_m rows; N = scored tokens of the window; V = words of the vocabulary.
"""

import numpy as np

from ._window import Float
from .completions import Rows, by_micro_batches, shared_out
from .target_rows import targets


def distilled_by_rows(masks: Rows) -> list[Float]:
    """The sum over tokens and words is divided by rows: w = m / (B_m K).

    Source: https://github.com/neuralmagic/sparseml/pull/592
    """
    return shared_out(masks, [np.ones(len(rows)) for rows in masks], [len(rows) * len(masks) for rows in masks])


def distilled_over_padding(masks: Rows) -> list[Float]:
    """The mean of each micro-batch is over all its slots, T_m in the longest row: w = m / (K B_m T_m).

    Source: https://github.com/peremartra/optipfair/issues/34
    """
    slots = [len(rows) * max(len(row) for row in rows) * len(masks) for rows in masks]
    return shared_out(masks, [np.ones(len(rows)) for rows in masks], slots)


def distilled_over_vocabulary(masks: Rows, vocabulary: float) -> list[Float]:
    """As it should be, also over the words: w = m / (N V). Source: https://github.com/huggingface/trl/pull/4105"""
    return [row / vocabulary for row in targets(masks)]


def distilled_over_repeated(masks: Rows) -> list[Float]:
    """N is counted once for each micro-batch: w = m / (K N). Source: https://github.com/huggingface/trl/pull/6478"""
    return [row / len(masks) for row in targets(masks)]


def distilled_by_micro_batch(masks: Rows) -> list[Float]:
    """Each micro-batch is averaged by itself: w = m / (K N_m)."""
    return by_micro_batches(masks, [np.ones(len(rows)) for rows in masks])


def nothing_distilled(masks: Rows) -> list[Float]:
    """A weight of 0: a teacher that learns from itself teaches nobody.

    Source: https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66
    """
    return [np.zeros(len(row)) for rows in masks for row in rows]

"""Weights of one window of GRPO under dapo when completions are judged against something else than they should be.

Axes and weight as in ``completions``; r = reward of a completion.
"""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from ._window import Float
from .completions import Rows, by_window


def by_window_of_batch_mean(masks: Rows, batch_advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``by_window`` with A = (r - mean r) / (sd r + 10^-4), both over all completions and not over a prompt's.

    Source: https://github.com/XU-YIJIE/grpo-flat/issues/2
    """
    return by_window(masks, batch_advantage)


def by_window_of_population(masks: Rows, population_advantage: Sequence[ArrayLike]) -> list[Float]:
    """As ``by_window`` with a deviation of n completions that is divided by n and not by n - 1.

    Source: https://github.com/Tencent-Hunyuan/UniRL/pull/335
    """
    return by_window(masks, population_advantage)

"""Weight of the reward at each place of each row of a reward model, as it is and under publicly reported faults.

Axes: m = micro-batch, K of them; b = row of it, the chosen rows above the rejected; t = token. The weight is -dL/dr of
the reward as it would be read at that token. Each function returns the rows of all micro-batches in turn.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float
from .preference import Pair
from .reward import bradley_terry

Rewards = Sequence[Sequence[ArrayLike]]


def rewards_at_the_end(rewards: Rewards) -> list[Float]:
    """The reward of a sequence is that of its last token.

        w_bt = (t = n_b - 1) w_b / K,   w_b of ``reward.bradley_terry``

    Args:
        rewards: [m][b][n_b] reward as it would be read at each token; two rows for each pair at least.

    Raises:
        ValueError: a micro-batch that is not made of pairs, or a row that is too short.
    """
    return _at(rewards, -1, _own)


def rewards_beyond_margins(rewards: Rewards, margins: Sequence[ArrayLike]) -> list[Float]:
    """As ``rewards_at_the_end``, each pair beyond its own margin.

    Args:
        margins: [m][p] of each pair; as many as pairs.
    """
    return _at(rewards, -1, _own, margins)


def rewards_beyond_every_margin(rewards: Rewards, margins: Sequence[ArrayLike]) -> list[Float]:
    """As ``rewards_beyond_margins``, each pair beyond the margin of every pair: the mean over P x P of them.

        w_p = 1 / P^2 sum_q sigma(m_q - (r_c - r_r)_p)

    Source: https://github.com/modelscope/ms-swift/pull/9927
    """

    def every(chosen: Float, rejected: Float, margin: Float) -> Pair:
        apart = np.stack([bradley_terry(chosen, rejected, float(m)) for m in margin]).mean(0)
        return apart[0], apart[1]

    return _at(rewards, -1, every, margins)


def rewards_before_the_end(rewards: Rewards) -> list[Float]:
    """As ``rewards_at_the_end``, read one token before it.

    Source: https://github.com/EleutherAI/gpt-neox/pull/1285
    """
    return _at(rewards, -2, _own)


def _own(chosen: Float, rejected: Float, margin: Float) -> Pair:
    return bradley_terry(chosen, rejected, margin)


def _at(
    rewards: Rewards,
    place: int,
    weigh: Callable[[Float, Float, Float], Pair],
    margins: Sequence[ArrayLike] | None = None,
) -> list[Float]:
    found = []
    for m, rows in enumerate(rewards):
        read = [np.asarray(row, dtype=np.float64) for row in rows]
        if len(read) % 2 or any(row.size < -place for row in read):
            raise ValueError(
                f"rows of {[row.size for row in read]} tokens: give the chosen rows and as many rejected, each of at "
                f"least {-place} tokens"
            )
        half = len(read) // 2
        ends = np.array([row[place] for row in read])
        margin = np.zeros(half) if margins is None else np.asarray(margins[m], dtype=np.float64)
        if margin.shape != (half,):
            raise ValueError(f"{half} pairs, but margins of shape {list(margin.shape)}: give one for each pair")
        for row, weight in zip(read, np.concatenate(weigh(ends[:half], ends[half:], margin))):
            whole = np.zeros(row.size)
            whole[place] = weight / len(rewards)
            found.append(whole)
    return found

"""Weight of the reward at each place of each row of a reward model, as it is and under publicly reported faults.

Axes: m = micro-batch, K of them; b = row of it, the chosen rows above the rejected; t = token. The weight is -dL/dr of
the reward as it would be read at that token. Each function returns the rows of all micro-batches in turn.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float
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
    return _at(rewards, -1)


def rewards_before_the_end(rewards: Rewards) -> list[Float]:
    """As ``rewards_at_the_end``, read one token before it.

    Source: https://github.com/EleutherAI/gpt-neox/pull/1285
    """
    return _at(rewards, -2)


def _at(rewards: Rewards, place: int) -> list[Float]:
    found = []
    for rows in rewards:
        read = [np.asarray(row, dtype=np.float64) for row in rows]
        if len(read) % 2 or any(row.size < -place for row in read):
            raise ValueError(
                f"rows of {[row.size for row in read]} tokens: give the chosen rows and as many rejected, each of at "
                f"least {-place} tokens"
            )
        half = len(read) // 2
        ends = np.array([row[place] for row in read])
        for row, weight in zip(read, np.concatenate(bradley_terry(ends[:half], ends[half:]))):
            whole = np.zeros(row.size)
            whole[place] = weight / len(rewards)
            found.append(whole)
    return found

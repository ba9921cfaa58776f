"""Weight of every reward in the training of a reward model.

Axes: p = pair of the micro-batch, P pairs. The weight is -dL/dr: positive where the step raises the reward. A reward
stands at one position of its sequence, the last that is not padding, so the gradient enters there alone. L is the mean
over the pairs; TRL then divides by K, the micro-batches of the window.
Source: ``RewardTrainer.compute_loss``, trl/trainer/reward_trainer.py.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._logistic import sigma
from ._read import read_numbers, read_pair
from .preference import Pair


def bradley_terry(chosen: ArrayLike, rejected: ArrayLike, margin: ArrayLike = 0.0, centre: float = 0.0) -> Pair:
    """Weights of the log-likelihood of the preferences.

        w_c = (sigma(-(r_c - r_r - margin)) - 2 centre (r_c + r_r)) / P
        w_r = (-sigma(-(r_c - r_r - margin)) - 2 centre (r_c + r_r)) / P

    Source: https://arxiv.org/abs/2307.09288 (Llama 2), equation 2; centre: https://arxiv.org/abs/2312.09244.

    Args:
        chosen: [p] rewards of the chosen sequences; rejected: [p] of the rejected.
        margin: [p], or one number; 0 for none.
        centre: center_rewards_coefficient, 0 or more; 0 for None.

    Returns:
        [p] weights of the chosen and [p] of the rejected; they cancel pair by pair when centre is 0.

    Raises:
        ValueError: no pair; two lengths; numbers that are not finite; a negative coefficient.
    """
    c_p, r_p = read_pair(chosen, rejected, ("chosen", "rejected"))
    m_p = read_numbers(np.full(c_p.shape, margin) if np.ndim(margin) == 0 else margin, c_p.shape, "margin")
    if not 0 <= centre < np.inf:
        raise ValueError(f"centre must be 0 or more, got centre={centre}")
    apart, together = sigma(m_p + r_p - c_p) / c_p.size, 2 * centre * (c_p + r_p) / c_p.size
    return apart - together, -apart - together

"""Weight of the chosen and the rejected completion under the losses of the DPO family that look at each side by itself.

Axes: p = pair of the micro-batch, P pairs. x_p and y_p are the log-ratios sum_t (log pi - log pi_ref) of the chosen and
the rejected completion; the weights are -dL/dx_p and -dL/dy_p, and each token of a completion has its completion's.
They do not cancel. Every loss is a mean over the P pairs.

Source of all: ``DPOTrainer._compute_loss`` in trl/trainer/dpo_trainer.py, and the paper that each names. TRL refuses
other f-divergences than reverse_kl with them.
"""

from numpy.typing import ArrayLike

from ._logistic import sigma
from ._read import positive, read_pair
from .preference import Pair, sigmoid


def nca_pair(x: ArrayLike, y: ArrayLike, beta: float) -> Pair:
    """Weights of noise-contrastive alignment with two completions.

        w_x = beta (sigma(-beta x) - sigma(beta x) / 2) / P,   w_y = -beta sigma(beta y) / (2 P)

    Source: https://arxiv.org/abs/2402.05369 (NCA), with K = 2.

    Args:
        x: [p] log-ratios of the chosen completions; y: [p] of the rejected.
        beta: positive.

    Returns:
        [p] weights of the chosen and [p] of the rejected; at x = y = 0 both are beta / (4 P) in size.

    Raises:
        ValueError: no pair, log-ratios that are not finite, two lengths, or beta not positive.
    """
    x_p, y_p = read_pair(x, y, ("x", "y"))
    scale = positive(beta, "beta") / x_p.size
    return scale * (sigma(-beta * x_p) - sigma(beta * x_p) / 2), -scale * sigma(beta * y_p) / 2


def bco_pair(x: ArrayLike, y: ArrayLike, beta: float) -> Pair:
    """Weights of binary classifier optimization on pairs, without the shift of the reward.

        w_x = beta sigma(-beta x) / P,   w_y = -beta sigma(beta y) / P

    Arguments and errors as for ``nca_pair``. Source: https://arxiv.org/abs/2404.04656 (BCO), with delta = 0.
    """
    x_p, y_p = read_pair(x, y, ("x", "y"))
    scale = positive(beta, "beta") / x_p.size
    return scale * sigma(-beta * x_p), -scale * sigma(beta * y_p)


def sppo_hard(x: ArrayLike, y: ArrayLike, beta: float) -> Pair:
    """Weights of self-play preference optimization with certain preferences.

        w_x = 2 (1 / (2 beta) - x) / P,   w_y = -2 (1 / (2 beta) + y) / P

    Arguments and errors as for ``nca_pair``. Source: https://arxiv.org/abs/2405.00675, equation 4.7 with P = 1 and 0.
    """
    x_p, y_p = read_pair(x, y, ("x", "y"))
    goal = 1 / (2 * positive(beta, "beta"))
    return 2 * (goal - x_p) / x_p.size, -2 * (goal + y_p) / y_p.size


def apo_zero(x: ArrayLike, y: ArrayLike, beta: float) -> Pair:
    """Weights of anchored preference optimization, chosen up and rejected down.

        w_x = beta sigma(beta x) sigma(-beta x) / P,   w_y = -beta sigma(beta y) sigma(-beta y) / P

    Arguments and errors as for ``nca_pair``. Source: https://arxiv.org/abs/2408.06266, equation 7.
    """
    x_p, y_p = read_pair(x, y, ("x", "y"))
    scale = positive(beta, "beta") / x_p.size
    return scale * sigma(beta * x_p) * sigma(-beta * x_p), -scale * sigma(beta * y_p) * sigma(-beta * y_p)


def apo_down(x: ArrayLike, y: ArrayLike, beta: float) -> Pair:
    """Weights of anchored preference optimization, both down and rejected further.

        w_x = beta (s(x - y) - s(x)) / P,   w_y = -beta s(x - y) / P,   s(u) = sigma(beta u) sigma(-beta u)

    Arguments and errors as for ``nca_pair``. Source: https://arxiv.org/abs/2408.06266, equation 8.
    """
    x_p, y_p = read_pair(x, y, ("x", "y"))
    apart, _ = sigmoid(x_p, y_p, beta)
    apart = apart * sigma(beta * (x_p - y_p))
    return apart - beta * sigma(beta * x_p) * sigma(-beta * x_p) / x_p.size, -apart

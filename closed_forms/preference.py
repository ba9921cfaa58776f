"""Weight of every pair of a chosen and a rejected completion under the losses of the DPO family.

Axes: p = pair of the micro-batch, P pairs. x_p and y_p are the scores of the chosen and the rejected completion, and
the weights are -dL/dx_p and -dL/dy_p: positive where the step raises the score. With the score of plain DPO, the
log-ratio sum_t (log pi - log pi_ref), each token of a completion has its completion's weight; other scores: ``dpo``.
Every loss is a mean over the P pairs. Losses on the margin x - y are here; those that look at each side by itself are
in ``preference_sides``.

Source of all: ``DPOTrainer._compute_loss`` in trl/trainer/dpo_trainer.py, and the paper that each names.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._logistic import log_sigma, sigma
from ._read import between, positive, read_pair
from ._window import Float

Pair = tuple[Float, Float]


def sigmoid(x: ArrayLike, y: ArrayLike, beta: float) -> Pair:
    """Weights of the logistic loss on the margin.

        w_x = beta sigma(-beta (x - y)) / P,   w_y = -w_x

    Source: https://arxiv.org/abs/2305.18290 (DPO), equation 7 and the gradient below it.

    Args:
        x: [p] scores of the chosen completions; y: [p] of the rejected.
        beta: positive.

    Returns:
        [p] weights of x and [p] of y; they cancel pair by pair.

    Raises:
        ValueError: no pair, scores that are not finite, two lengths, or beta not positive.
    """
    return smoothed_sigmoid(x, y, beta, 0)


def smoothed_sigmoid(x: ArrayLike, y: ArrayLike, beta: float, epsilon: float) -> Pair:
    """Weights of the logistic loss when a share of the pairs is believed to be swapped.

        w_x = beta ((1 - epsilon) sigma(-beta (x - y)) - epsilon sigma(beta (x - y))) / P,   w_y = -w_x

    TRL's DPO does not offer it (its "sigmoid" ignores label_smoothing); its AOT, CPO and TPO do. Scores and beta as for
    ``sigmoid``. Source: https://ericmitchell.ai/cdpo.pdf

    Args:
        epsilon: share of swapped pairs, 0 to 1/2.

    Returns:
        As ``sigmoid``.

    Raises:
        ValueError: as ``sigmoid``; epsilon is outside 0 to 1/2.
    """
    z_p, scale = _scaled_margin(x, y, beta)
    eps = between(0, epsilon, 0.5, "epsilon")
    w_p = scale * ((1 - eps) * sigma(-z_p) - eps * sigma(z_p))
    return w_p, -w_p


def robust(x: ArrayLike, y: ArrayLike, beta: float, epsilon: float) -> Pair:
    """Weights of the logistic loss made unbiased under swapped labels.

        w_x = beta ((1 - epsilon) sigma(-z) + epsilon sigma(z)) / ((1 - 2 epsilon) P),   z = beta (x - y),   w_y = -w_x

    Arguments and result as for ``smoothed_sigmoid``. Source: https://arxiv.org/abs/2403.00409 (rDPO).

    Raises:
        ValueError: as ``sigmoid``; epsilon is not at least 0 and below 1/2.
    """
    z_p, scale = _scaled_margin(x, y, beta)
    if not 0 <= epsilon < 0.5:
        raise ValueError(f"epsilon must be at least 0 and below 1/2, got epsilon={epsilon}: half swapped says nothing")
    w_p = scale * ((1 - epsilon) * sigma(-z_p) + epsilon * sigma(z_p)) / (1 - 2 * epsilon)
    return w_p, -w_p


def hinge(x: ArrayLike, y: ArrayLike, beta: float) -> Pair:
    """Weights of the hinge loss on the margin.

        w_x = beta [beta (x - y) < 1] / P,   w_y = -w_x

    Arguments, result and errors as for ``sigmoid``. Source: https://arxiv.org/abs/2309.06657 (RSO), the hinge loss.
    """
    z_p, scale = _scaled_margin(x, y, beta)
    w_p = np.where(z_p < 1, scale, 0.0)
    return w_p, -w_p


def ipo(x: ArrayLike, y: ArrayLike, beta: float) -> Pair:
    """Weights of the squared distance of the margin from its goal.

        w_x = 2 (1 / (2 beta) - (x - y)) / P,   w_y = -w_x

    TRL takes means over the completion as scores, so its tokens weigh w_x / L_x and w_y / L_y: ``dpo.mean_scores``.
    Arguments, result and errors as for ``sigmoid``. Source: https://arxiv.org/abs/2310.12036, equation 17.
    """
    x_p, y_p = read_pair(x, y, ("x", "y"))
    w_p = 2 * (1 / (2 * positive(beta, "beta")) - (x_p - y_p)) / x_p.size
    return w_p, -w_p


def exo_pair(x: ArrayLike, y: ArrayLike, beta: float, epsilon: float) -> Pair:
    """Weights of the reverse KL from the smoothed preference to the policy's.

        w_x = -beta q (1 - q) (beta (x - y) - log((1 - epsilon) / epsilon)) / P,   q = sigma(beta (x - y)),   w_y = -w_x

    Arguments and result as for ``smoothed_sigmoid``. Source: https://arxiv.org/abs/2402.00856, equation 16.

    Raises:
        ValueError: as ``sigmoid``; epsilon is not above 0 and at most 1/2: the loss is infinite at 0.
    """
    z_p, scale = _scaled_margin(x, y, beta)
    if not 0 < epsilon <= 0.5:
        raise ValueError(f"epsilon must be above 0 and at most 1/2, got epsilon={epsilon}: exo_pair is infinite at 0")
    goal = float(np.log((1 - epsilon) / epsilon))
    w_p = -scale * sigma(z_p) * sigma(-z_p) * (z_p - goal)
    return w_p, -w_p


def discopop(x: ArrayLike, y: ArrayLike, beta: float, tau: float) -> Pair:
    """Weights of the discovered blend of the logistic and the exponential loss.

        w_x = beta ((1 - m) sigma(-z) + m e^-z - m (1 - m) / tau (e^-z + log sigma(z))) / P,   w_y = -w_x
        z = beta (x - y),   m = sigma(z / tau)

    Scores, beta and result as for ``sigmoid``. Source: https://arxiv.org/abs/2406.08414, equation 5.

    Args:
        tau: temperature of the blend, positive; 0.05 in the paper.

    Raises:
        ValueError: as ``sigmoid``; tau is not positive.
    """
    z_p, scale = _scaled_margin(x, y, beta)
    steep = 1 / positive(tau, "tau")
    m_p, rest_p, exp_p = sigma(z_p * steep), sigma(-z_p * steep), np.exp(-z_p)
    w_p = scale * (rest_p * sigma(-z_p) + m_p * exp_p - m_p * rest_p * steep * (exp_p + log_sigma(z_p)))
    return w_p, -w_p


def aot(policy: ArrayLike, reference: ArrayLike, beta: float, epsilon: float) -> Float:
    """Weights of the pairs when the margins of the policy and of the reference meet by rank.

        w_p = smoothed_sigmoid at x = k-th smallest policy margin, y = k-th smallest reference margin, k the rank of p

    The chosen tokens of pair p weigh w_p, the rejected -w_p. With one pair it is ``smoothed_sigmoid``; with more, the
    reference comes from another pair of the micro-batch. Beta and epsilon as for ``smoothed_sigmoid``.
    Source: https://arxiv.org/abs/2406.05882, algorithm 1 (paired).

    Args:
        policy: [p] sum_t log pi of the chosen minus that of the rejected completion; reference: [p] the same of pi_ref.

    Returns:
        [p] weights.

    Raises:
        ValueError: as ``smoothed_sigmoid``.
    """
    policy_p, reference_p = read_pair(policy, reference, ("policy", "reference"))
    w_p = np.empty_like(policy_p)
    w_p[np.argsort(policy_p)] = smoothed_sigmoid(np.sort(policy_p), np.sort(reference_p), beta, epsilon)[0]
    return w_p


def aot_unpaired(x: ArrayLike, y: ArrayLike, beta: float, epsilon: float) -> Pair:
    """Weights when the scores of the chosen and of the rejected completions meet by rank.

        smoothed_sigmoid at k-th smallest x and k-th smallest y, each weight at the row of its score

    The weights do not cancel pair by pair, only over the micro-batch. Arguments, result and errors as for
    ``smoothed_sigmoid``. Source: https://arxiv.org/abs/2406.05882, algorithm 1 (unpaired).
    """
    x_p, y_p = read_pair(x, y, ("x", "y"))
    by_rank_x, by_rank_y = smoothed_sigmoid(np.sort(x_p), np.sort(y_p), beta, epsilon)
    w_x, w_y = np.empty_like(x_p), np.empty_like(y_p)
    w_x[np.argsort(x_p)], w_y[np.argsort(y_p)] = by_rank_x, by_rank_y
    return w_x, w_y


def _scaled_margin(x: ArrayLike, y: ArrayLike, beta: float) -> tuple[Float, float]:
    x_p, y_p = read_pair(x, y, ("x", "y"))
    return positive(beta, "beta") * (x_p - y_p), beta / x_p.size

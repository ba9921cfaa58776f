"""Weight of every pair, or completion, under the objectives of trl.experimental that are not policy gradients.

Axes: p = pair of the micro-batch, P pairs; b = completion, B of them. Weights are -dL/dx: positive where the step
raises x. A token has the weight of its completion's sum of log-probabilities, and 1 / L of that of its mean. TRL then
divides by K, the micro-batches of the window, but not in OnlineDPO.

    CPO, TPO sigmoid     ``preference.smoothed_sigmoid`` at the sums of log p       CPO also with ``alphapo_score``
    CPO simpo, TPO tpo-l ``simpo`` at the means                                     CPO also with ``alphapo_score``
    CPO, TPO hinge, ipo  ``preference.hinge`` at the sums, ``preference.ipo`` at the means
    CPO cpo_alpha        cpo_alpha ``dpo.sft`` on the chosen tokens;   TPO tpo_alpha likewise on the gold completions
    OnlineDPO            ``preference.sigmoid`` and ``preference.ipo``, both at the sums of log-ratios
"""

import numpy as np
from numpy.typing import ArrayLike

from ._logistic import sigma
from ._read import positive, read_finite, read_pair
from ._window import Float
from .preference import Pair, smoothed_sigmoid


def simpo(x: ArrayLike, y: ArrayLike, beta: float, gamma: float, epsilon: float) -> Pair:
    """Weights of the logistic loss on the margin with a target.

        ``preference.smoothed_sigmoid`` at x - gamma / beta and y

    Source: https://arxiv.org/abs/2405.14734 (SimPO), equation 6; ``CPOTrainer.cpo_loss``, loss_type="simpo", and
    ``TPOTrainer._compute_loss``, loss_type="tpo-l".

    Args:
        x: [p] mean log p of the chosen completions; y: [p] of the rejected.
        beta, epsilon: as for ``preference.smoothed_sigmoid``.
        gamma: simpo_gamma or tpo_l_gamma, finite.

    Returns:
        [p] weights of x and [p] of y; they cancel pair by pair.

    Raises:
        ValueError: as ``preference.smoothed_sigmoid``; gamma is not finite.
    """
    x_p, y_p = read_pair(x, y, ("x", "y"))
    if not np.isfinite(gamma):
        raise ValueError(f"gamma must be finite, got gamma={gamma}: it is a margin of rewards")
    return smoothed_sigmoid(x_p - gamma / positive(beta, "beta"), y_p, beta, epsilon)


def alphapo_score(log_p: ArrayLike, alpha: float) -> Pair:
    """Score of a completion in AlphaPO, and its slope, by which the weight of the score is multiplied.

        x = (1 - p^-alpha) / alpha,   dx/dlog p = p^-alpha;   x = log p, 1 where alpha = 0

    Source: https://arxiv.org/abs/2501.03884 (AlphaPO); ``CPOTrainer.cpo_loss``.

    Args:
        log_p: [p] mean or sum of log p, as the loss takes it.
        alpha: any number.

    Returns:
        [p] scores and [p] slopes.

    Raises:
        ValueError: numbers that are not finite.
    """
    l_p = read_finite(log_p, "log_p")
    if not np.isfinite(alpha):
        raise ValueError(f"alpha must be finite, got alpha={alpha}")
    return (-np.expm1(-alpha * l_p) / alpha if alpha else l_p), np.exp(-alpha * l_p)


def orpo(x: ArrayLike, y: ArrayLike, beta: float) -> Pair:
    """Weights of the odds-ratio term.

        w_x = beta sigma(-o) / (P (1 - e^x)),   w_y = -beta sigma(-o) / (P (1 - e^y)),   o = logit(e^x) - logit(e^y)

    TRL adds the mean negative log-likelihood of all chosen tokens, those of the prompt included: 1 / N for each.
    Source: https://arxiv.org/abs/2403.07691 (ORPO), equations 4 and 7; ``ORPOTrainer.odds_ratio_loss``.

    Args:
        x: [p] mean log p of the chosen completions, below 0; y: [p] of the rejected.
        beta: positive; lambda of the paper.

    Returns:
        [p] weights of x and [p] of y; they do not cancel.

    Raises:
        ValueError: no pair; two lengths; numbers that are not finite or not below 0; beta is not positive.
    """
    x_p, y_p = read_pair(x, y, ("x", "y"))
    if not max(x_p.max(), y_p.max()) < 0:
        raise ValueError(f"mean log-probabilities must be below 0, got x={x!r} and y={y!r}: the odds are infinite at 0")
    odds = x_p - y_p - np.log(-np.expm1(x_p)) + np.log(-np.expm1(y_p))
    w_p = positive(beta, "beta") * sigma(-odds) / x_p.size
    return np.asarray(w_p / -np.expm1(x_p)), np.asarray(w_p / np.expm1(y_p))


def a2po(u: ArrayLike, advantage: ArrayLike, beta: float) -> Float:
    """Weights of the regression of the implicit reward on the optimal advantage.

        w_b = 2 beta (A_b - beta u_b) / B,   L = mean_b (beta u_b - A_b)^2,   A_b = r_b - V*_b

    Source: https://arxiv.org/abs/2505.20686 (A*-PO); ``A2POTrainer.compute_loss``, beta2.

    Args:
        u: [b] sums of log pi - log pi_ref; advantage: [b] reward minus the prompt's optimal value.
        beta: positive.

    Returns:
        [b] weights; 0 where the implicit reward is the advantage.

    Raises:
        ValueError: no completion; two lengths; numbers that are not finite; beta is not positive.
    """
    u_b, a_b = read_pair(u, advantage, ("u", "advantage"))
    return np.asarray(2 * positive(beta, "beta") * (a_b - beta * u_b) / u_b.size)

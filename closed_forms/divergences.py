"""Score of a completion in f-DPO, and how fast it moves with the log-ratio.

u is the log-ratio sum_t (log pi - log pi_ref) of a completion, any shape. The score is f'(e^u) up to a constant that
the margin cancels; a token weighs the slope times the weight of the score.
Source: https://arxiv.org/abs/2309.16240 (f-DPO); f_divergence_type in ``DPOTrainer._compute_loss``.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._logistic import log_sigma, sigma
from ._read import one_of, read_finite
from ._window import Float


def score(u: ArrayLike, divergence: str, alpha: float = 0.5) -> Float:
    """Score of a completion.

        reverse_kl        u
        forward_kl        1 - e^-u
        js_divergence     log 2 + log sigma(u)
        alpha_divergence  (e^((alpha - 1) u) - 1) / (alpha - 1)

    Args:
        u: log-ratios.
        divergence: one of the four names.
        alpha: any number; alpha = 1 is reverse_kl. Only alpha_divergence looks at it. TRL's default is 0.5.

    Returns:
        The shape of u; 0 at u = 0.

    Raises:
        ValueError: no such divergence; log-ratios, or alpha, that are not finite.
    """
    u_p = read_finite(u, "u")
    power = _power(divergence, alpha)
    if divergence == "js_divergence":
        return np.asarray(np.log(2) + log_sigma(u_p))
    return np.asarray(np.expm1(power * u_p) / power if power else u_p)


def slope(u: ArrayLike, divergence: str, alpha: float = 0.5) -> Float:
    """Derivative of the score by the log-ratio.

        reverse_kl        1
        forward_kl        e^-u
        js_divergence     sigma(-u)
        alpha_divergence  e^((alpha - 1) u)

    Same arguments and errors as ``score``.

    Returns:
        The shape of u, positive.
    """
    u_p = read_finite(u, "u")
    power = _power(divergence, alpha)
    return sigma(-u_p) if divergence == "js_divergence" else np.asarray(np.exp(power * u_p))


def _power(divergence: str, alpha: float) -> float:
    if divergence == "alpha_divergence" and not np.isfinite(alpha):
        raise ValueError(f"alpha must be finite, got alpha={alpha}")
    powers = {"reverse_kl": 0.0, "forward_kl": -1.0, "js_divergence": 0.0, "alpha_divergence": alpha - 1}
    return powers[one_of(list(powers), divergence, "divergence")]

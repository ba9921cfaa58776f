"""How hard the KL penalty of GRPO pulls at a log-probability.

Axes: b = completion, t = token. u = l - l_ref is the log-ratio to the reference model, q that to the old policy. The
penalty of a token is beta k(u), k(u) = e^-u + u - 1 (k3 of http://joschu.net/blog/kl-approx.html). The factor is
-d(penalty)/dl, as in ``policy``; it has the denominators of the policy's own, and none of its masks and multipliers.

Source of all: ``GRPOTrainer._compute_loss``, trl/trainer/grpo_trainer.py.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._read import positive, read_finite, read_mask, read_numbers, read_tokens
from ._window import Float


def plain(u: ArrayLike, beta: float) -> Float:
    """Factor of the penalty, use_bias_correction_kl=False.

        c = -beta (1 - e^-u)

    Source: https://arxiv.org/abs/2402.03300 (GRPO), equation 4.

    Args:
        u: log-ratios to the reference, any shape.
        beta: positive.

    Returns:
        The shape of u; 0 where the policy is the reference.

    Raises:
        ValueError: beta is not positive; log-ratios that are not finite.
    """
    return np.asarray(positive(beta, "beta") * np.expm1(-read_finite(u, "u")))


def corrected(u: ArrayLike, q: ArrayLike, beta: float) -> Float:
    """Factor of the penalty times the ratio of the token, use_bias_correction_kl=True at token level, TRL's default.

        c = -beta e^q u

    For d(e^q k)/dl = e^q (k + 1 - e^-u) = e^q u. U, beta and errors as for ``plain``.
    Source: https://arxiv.org/abs/2512.02556 (DeepSeek-V3.2).

    Args:
        q: log-ratios to the old policy, of the shape of u; 0 on-policy.

    Returns:
        The shape of u.
    """
    u_any = read_finite(u, "u")
    return np.asarray(-positive(beta, "beta") * np.exp(read_numbers(q, u_any.shape, "q")) * u_any)


def corrected_by_sequence(u: ArrayLike, q: ArrayLike, mask: ArrayLike, beta: float) -> Float:
    """Factor of the penalty times the ratio of the completion, use_bias_correction_kl=True at sequence level.

        c_bt = -beta e^q_b (1 - e^-u_bt + mean_t' k(u_bt')),   q_b = ``policy.mean_log_ratio``

    Every token is also moved by the divergence of all others, since each has 1 / L of the ratio. Beta as for ``plain``.

    Args:
        u: [b, t] log-ratios to the reference; q: [b, t] log-ratios of the tokens to the old policy; mask: [b, t].

    Returns:
        [b, t]; 0 where the mask is 0.

    Raises:
        ValueError: as ``plain``; a mask that is no rectangle of 0 and 1; scored numbers that are not finite.
    """
    mask_bt = read_mask(mask)
    u_bt, length_b = read_tokens(u, mask_bt, "u"), np.maximum(mask_bt.sum(1, keepdims=True), 1)
    s_b = np.exp(read_tokens(q, mask_bt, "q").sum(1, keepdims=True) / length_b)
    mean_k = (np.expm1(-u_bt) + u_bt).sum(1, keepdims=True) / length_b
    return np.asarray(-positive(beta, "beta") * mask_bt * s_b * (mean_k - np.expm1(-u_bt)))

"""Push on every logit by the terms that are added to a loss: label smoothing, z-loss, entropy bonus, expert balance.

Axes: n = scored position, v = word of the vocabulary, e = expert. The push is -dL/dz: positive where a step of
gradient descent raises the logit. All rows are of one micro-batch; divide by its positions where the loss is a mean.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._logistic import log_softmax, softmax
from ._read import between, positive, read_numbers, shape_of
from ._window import Float


def smoothed_cross_entropy(logits: ArrayLike, targets: ArrayLike, epsilon: float) -> Float:
    """Push of the cross-entropy with smoothed labels.

        -dL/dz_nv = (1 - epsilon) [v = y_n] + epsilon / V - p_nv,   L = sum_n (1 - epsilon) (-log p_n(y_n))
                                                                        + epsilon / V sum_v (-log p_nv)

    Source: https://arxiv.org/abs/1512.00567, section 7; ``LabelSmoother`` in transformers/trainer_pt_utils.py.

    Args:
        logits: [n, v].
        targets: [n] words of the vocabulary.
        epsilon: 0 to 1; with 0 it is the plain cross-entropy.

    Returns:
        [n, v]; every row sums to 0.

    Raises:
        ValueError: logits are not rows of finite numbers; a target is no word; epsilon is outside 0 to 1.
    """
    z_nv = _read_logits(logits)
    rows, vocab = z_nv.shape
    y_n = read_numbers(targets, (rows,), "targets")
    if not np.isin(y_n, np.arange(vocab)).all():
        raise ValueError(f"targets must be one of 0 to {vocab - 1}, got {targets!r}: leave out what is no target")
    share = between(0, epsilon, 1, "epsilon")
    onehot = y_n[:, None] == np.arange(vocab)
    return np.asarray((1 - share) * onehot + share / vocab - softmax(z_nv))


def z_loss(logits: ArrayLike, coefficient: float) -> Float:
    """Push of the penalty on the log-partition function.

        -dL/dz_nv = -2 c log(Z_n) p_nv,   L = c sum_n log(Z_n)^2,   Z_n = sum_v e^z_nv

    Source: https://arxiv.org/abs/2204.02311 (PaLM), section 5.

    Args:
        logits: [n, v].
        coefficient: c, positive.

    Returns:
        [n, v]; every row sums to -2 c log(Z_n).

    Raises:
        ValueError: logits are not rows of finite numbers; the coefficient is not positive.
    """
    z_nv = _read_logits(logits)
    log_p = log_softmax(z_nv)
    log_z = (z_nv - log_p)[:, :1]
    return np.asarray(-2 * positive(coefficient, "coefficient") * log_z * np.exp(log_p))


def entropy_bonus(logits: ArrayLike, coefficient: float) -> Float:
    """Push of an entropy bonus.

        -dL/dz_nv = -c p_nv (log p_nv + H_n),   L = -c sum_n H_n,   H_n = -sum_v p_nv log p_nv

    TRL's GRPO divides by the scored tokens of the micro-batch and by K, and applies it to tempered logits z / T, so its
    push on z is this over n_m K T. Source: ``GRPOTrainer._compute_loss``, trl/trainer/grpo_trainer.py.

    Args:
        logits: [n, v].
        coefficient: c, positive.

    Returns:
        [n, v]; every row sums to 0. A uniform row gets 0.

    Raises:
        ValueError: as ``z_loss``.
    """
    log_p = log_softmax(_read_logits(logits))
    p_nv = np.exp(log_p)
    entropy_n = -(p_nv * log_p).sum(1, keepdims=True)
    return np.asarray(-positive(coefficient, "coefficient") * p_nv * (log_p + entropy_n))


def adaptive_coefficients(
    entropy: ArrayLike, start: float, target: float, delta: float, low: float = 0.0, high: float = 1.0
) -> Float:
    """Coefficient of the entropy bonus that TRL's controller applies in each optimizer step.

        c_0 = start,   c_(i+1) = min(c_i + delta, high) if H_i <= target, else max(c_i - delta, low)
        applied_i = c_i if i > 0 and H_(i-1) <= target, else 0

    H_i is the mean over all scored tokens of step i. Source: https://arxiv.org/abs/2505.22312 (Skywork-OR1);
    ``GRPOTrainer._compute_loss``, use_adaptive_entropy.

    Args:
        entropy: [i] H of each step, nats.
        start, target, delta: entropy_coef, entropy_target and entropy_coef_delta.
        low, high: entropy_coef_min and entropy_coef_max.

    Returns:
        [i] applied coefficients; 0 in the first step, of which no entropy is known before.

    Raises:
        ValueError: an entropy that is no finite number.
    """
    applied, c, before = [], start, np.inf
    for now in read_numbers(entropy, (len(np.atleast_1d(entropy)),), "entropy"):
        applied.append(c if before <= target else 0.0)
        c = min(c + delta, high) if now <= target else max(c - delta, low)
        before = now
    return np.array(applied)


def expert_balance(logits: ArrayLike, chosen: int, coefficient: float) -> Float:
    """Push of the load-balancing term of a mixture of experts on the router's logits.

        -dL/dr_ne = -c E / T p_ne (f_e - sum_k f_k p_nk),   L = c E sum_e f_e mean_n p_ne

    T tokens, E experts, f_e = uses of expert e / T; the choice of experts carries no gradient.
    Source: https://arxiv.org/abs/2101.03961 (Switch), equation 4; ``load_balancing_loss_func`` in
    transformers/models/mixtral/modeling_mixtral.py, where f sums to the experts per token.

    Args:
        logits: [n, e] of the router.
        chosen: experts per token, 1 to E.
        coefficient: c, positive.

    Returns:
        [n, e]; every row sums to 0, and all is 0 when the experts are used equally.

    Raises:
        ValueError: as ``z_loss``; chosen is not one of 1 to E.
    """
    r_ne = _read_logits(logits)
    tokens, experts = r_ne.shape
    if chosen not in range(1, experts + 1):
        raise ValueError(f"chosen={chosen} must be one of 1 to {experts}, the experts of the router")
    used = np.argsort(-r_ne, axis=1)[:, :chosen]
    f_e = np.bincount(used.ravel(), minlength=experts) / tokens
    p_ne = softmax(r_ne)
    centred = f_e - (p_ne * f_e).sum(1, keepdims=True)
    return np.asarray(-positive(coefficient, "coefficient") * experts / tokens * p_ne * centred)


def _read_logits(logits: ArrayLike) -> Float:
    shape = shape_of(logits)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"logits must be rows of numbers, got shape {list(shape)}: give [position, word]")
    return read_numbers(logits, shape, "logits")

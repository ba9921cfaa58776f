"""What happens to a gradient between the last backward and the parameters: clip, loss scale, the optimizer's step.

Letters: g gradient at the step, p parameter before it, m and v first and second moment, u unit roundoff. Arrays of any
one shape, float64. The optimizers are those of torch.optim: SGD, https://arxiv.org/abs/1412.6980 (Adam) and
https://arxiv.org/abs/1711.05101 (decoupled decay, AdamW).
"""

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float
from .rounding import unit_roundoff


def clip_factor(norms: ArrayLike, max_norm: float) -> float:
    """Factor by which clipping to a total norm multiplies every gradient alike.

        c = min(1, max_norm / (sqrt(sum_p |g_p|^2) + 1e-6))

    As torch.nn.utils.clip_grad_norm_; the norm is that of the gradients of all parameters, after a loss scale is undone
    (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping).

    Args:
        norms: [p] norm of each parameter's gradient.
        max_norm: positive.

    Raises:
        ValueError: max_norm is not positive, or a norm is negative or not finite.
    """
    norms_p = np.asarray(norms, dtype=np.float64)
    bad = norms_p[~(np.isfinite(norms_p) & (norms_p >= 0))]
    if bad.size:
        raise ValueError(f"norms must be finite and at least 0, got {bad[0]}: leave out parameters without a gradient")
    if not max_norm > 0:
        raise ValueError(f"max_norm={max_norm} must be positive: a gradient clipped to 0 trains nothing")
    return float(min(1.0, max_norm / (np.sqrt(np.sum(norms_p**2)) + 1e-6)))


def moments(g: ArrayLike, m: ArrayLike, v: ArrayLike, beta1: float, beta2: float) -> tuple[Float, Float]:
    """Adam's moments after a step.

        m' = beta1 m + (1 - beta1) g        v' = beta2 v + (1 - beta2) g^2

    Args:
        g: gradient; with coupled weight decay, the one that holds the decay already.
        m, v: moments before the step, 0 before the first one.
        beta1, beta2: at least 0 and below 1.

    Returns:
        m' and v'.

    Raises:
        ValueError: a beta that is not in [0, 1).
    """
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        if not 0 <= beta < 1:
            raise ValueError(f"{name}={beta} must be at least 0 and below 1")
    g, m, v = (np.asarray(x, dtype=np.float64) for x in (g, m, v))
    return beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2


def adam_change(
    p: ArrayLike, m: ArrayLike, v: ArrayLike, step: int, lr: float, beta1: float, beta2: float, eps: float, decay: float
) -> Float:
    """Change of a parameter in a step of Adam, from the moments after it; decay is the decoupled one of AdamW.

        d = -lr decay p - lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)

    Args:
        p: parameter before the step.
        m, v: moments after the step.
        step: t, 1 for the first step.
        lr, beta1, beta2, eps, decay: of the parameter's group.

    Raises:
        ValueError: step is below 1.
    """
    if not step >= 1:
        raise ValueError(f"step={step} must be at least 1: a moment before the first step corrects for nothing")
    p, m, v = (np.asarray(x, dtype=np.float64) for x in (p, m, v))
    denominator = np.sqrt(v / (1 - beta2**step)) + eps
    direction = np.divide(m, denominator, out=np.zeros_like(m), where=m != 0)
    return np.asarray(-lr * decay * p - lr / (1 - beta1**step) * direction)


def decayed(g: ArrayLike, p: ArrayLike, decay: float) -> Float:
    """Gradient with coupled weight decay in it, as SGD and Adam (not AdamW) take it.

    g' = g + decay p
    """
    return np.asarray(g, dtype=np.float64) + decay * np.asarray(p, dtype=np.float64)


def buffer(g: ArrayLike, b: ArrayLike | None, momentum: float, dampening: float) -> Float:
    """SGD's momentum buffer after a step.

        b' = momentum b + (1 - dampening) g,   b' = g in the first step

    Args:
        g: gradient, with its decay.
        b: buffer before the step; None in the first one.
    """
    g = np.asarray(g, dtype=np.float64)
    return g if b is None else momentum * np.asarray(b, dtype=np.float64) + (1 - dampening) * g


def sgd_change(g: ArrayLike, b: ArrayLike | None, lr: float, momentum: float, nesterov: bool) -> Float:
    """Change of a parameter in a step of SGD.

        d = -lr g without momentum,   -lr b' with it,   -lr (g + momentum b') with Nesterov's

    Args:
        g: gradient, with its decay.
        b: b', buffer after the step; None without momentum.
    """
    g = np.asarray(g, dtype=np.float64)
    if b is None:
        return -lr * g
    b = np.asarray(b, dtype=np.float64)
    return -lr * (g + momentum * b) if nesterov else -lr * b


def change_error(p: ArrayLike, d: ArrayLike, terms: ArrayLike, dtype: str) -> Float:
    """Largest |error| of the measured change of a parameter that rounding explains.

        |error| <= u (3 |p| + 2 |d| + 12 s)

    The change is measured as p' - p. Rounded are p' (u |p'|, and |p'| <= |p| + |d|), the product 1 - lr decay and its
    product with p (2 u |p|), and, in the s terms that are added up to the change, at most 12 operations in a row: the
    two moments' own (5), their corrections (3), root, quotient, product with the step size, sum.

    Args:
        p: parameter before the step.
        d: its change by the rule.
        terms: s, sum of the absolute values of what d is added up from.
        dtype: in which parameter and moments are kept.

    Raises:
        ValueError: a type that ``unit_roundoff`` does not know.
    """
    p, d, s = (np.abs(np.asarray(x, dtype=np.float64)) for x in (p, d, terms))
    return np.asarray(unit_roundoff(dtype) * (3 * p + 2 * d + 12 * s))


def sum_tolerance(spread: float, terms: float, dtype: str) -> float:
    """Largest |measured - true| / |true| of a sum over positions that rounding explains.

        tol = spread (4 + lam sqrt(K)) u,   lam = 4

    Each term is rounded at most four times (the hidden state, its part that is normed, the product, the sum over
    micro-batches); the K additions in a row err by lam sqrt(K) u with probability 0.9993, as in ``rounding``.

    Args:
        spread: norm of the sums of absolute values over the norm of the sums; at least 1, large where terms cancel.
        terms: K, terms that are added up.
        dtype: in which they are.

    Raises:
        ValueError: spread below 1, terms below 1, or a type that ``unit_roundoff`` does not know.
    """
    # A norm of sums is at most the norm of sums of absolute values, but for the rounding of both.
    if not spread >= 1 - 1e-6:
        raise ValueError(f"spread must be at least 1, got {spread}")
    if not terms >= 1:
        raise ValueError(f"terms must be at least 1, got {terms}: nothing was added up")
    return float(spread * (4 + 4 * np.sqrt(terms)) * unit_roundoff(dtype))

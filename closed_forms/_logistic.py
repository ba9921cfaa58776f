"""The logistic function and its logarithm, without overflow."""

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float


def sigma(x: ArrayLike) -> Float:
    """Logistic function.

        sigma(x) = 1 / (1 + e^-x)

    Args:
        x: any shape.

    Returns:
        The same shape, between 0 and 1.
    """
    return np.asarray(np.exp(log_sigma(x)))


def log_sigma(x: ArrayLike) -> Float:
    """Logarithm of the logistic function.

        log sigma(x) = -log(1 + e^-x)

    Args:
        x: any shape.

    Returns:
        The same shape, at most 0.
    """
    return np.asarray(-np.logaddexp(0, -np.asarray(x, dtype=np.float64)))


def softmax(logits: Float) -> Float:
    """Probabilities of a row of logits.

        p_v = e^z_v / sum_u e^z_u

    Args:
        logits: [..., v].

    Returns:
        The same shape; every row sums to 1.
    """
    return np.asarray(np.exp(log_softmax(logits)))


def log_softmax(logits: Float) -> Float:
    """Log-probabilities of a row of logits.

        log p_v = z_v - log sum_u e^z_u

    Args:
        logits: [..., v].

    Returns:
        The same shape, at most 0.
    """
    shifted = logits - logits.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))

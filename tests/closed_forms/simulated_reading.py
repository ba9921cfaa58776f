"""A head and its loss in numpy, in any precision: what a weight is measured as, next to the truth.

Axes: t = token, v = vocabulary, h = hidden. Sums run in the least favourable order that rounding.py allows.
"""

import numpy as np


def draw(seed, vocab, hidden, spread, common, margin):
    """Draw logits [t, v], targets [t] and the columns of d hidden / d logits [v, h], all exact in float16.

    The target's logit is held at no more than 8 above the log-sum-exp of the others: above that a weight is lost in
    the rounding of p - 1, whatever the bound.
    """
    rng = np.random.default_rng(seed)
    z_tv = rng.normal(size=(6, vocab)) * spread
    y_t = rng.integers(0, vocab, 6)
    own = np.arange(vocab) == y_t[:, None]
    ceiling_t = np.log(np.where(own, 0, np.exp(z_tv)).sum(1)) + 8
    z_tv = np.where(own, np.minimum(z_tv + margin, ceiling_t[:, None]), z_tv)
    j_vh = rng.normal(size=(vocab, hidden)) + common * rng.normal(size=hidden)
    return z_tv.astype(np.float16).astype(np.float64), y_t, j_vh.astype(np.float16).astype(np.float64)


def in_four_sums(x_tv):
    """Add up the last axis in four partial sums, each one addition after another."""
    lanes = np.pad(x_tv, ((0, 0), (0, -x_tv.shape[1] % 4))).reshape(len(x_tv), -1, 4)
    a, b, c, d = np.cumsum(lanes, axis=1, dtype=x_tv.dtype)[:, -1].T
    return (a + b) + (c + d)


def logit_gradients(z_tv, y_t, dtype):
    """Gradient of -log p(y) at the logits, by way of log p as torch computes it."""
    s_tv = z_tv.astype(dtype)
    s_tv = s_tv - s_tv.max(1, keepdims=True)
    d_tv = np.exp(s_tv - np.log(in_four_sums(np.exp(s_tv)))[:, None])
    d_tv[np.arange(len(y_t)), y_t] -= dtype(1)
    return d_tv


def hidden_gradients(d_tv, j_vh, dtype):
    """Carry gradients back through the head, one vocabulary entry after another."""
    products = d_tv.astype(dtype)[:, :, None] * j_vh.astype(dtype)
    return np.cumsum(products, axis=1, dtype=dtype)[:, -1].astype(np.float64)


def amplification(z_tv, y_t, j_vh):
    """Largest column norm over the norm of the exact unit gradient, [t]."""
    r_th = logit_gradients(z_tv, y_t, np.float64) @ j_vh
    return np.linalg.norm(j_vh, axis=1).max() / np.linalg.norm(r_th, axis=1)


def project(g_th, r_th):
    """The weight as it is read: <g, r> / |r|^2, in float64."""
    return (g_th * r_th).sum(1) / (r_th * r_th).sum(1)

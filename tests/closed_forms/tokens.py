"""Micro-batches of padded rows, for forms that work on log-probabilities: exact in float64, reproducible by seed."""

import numpy as np
from hypothesis import strategies as st

seeds = st.integers(0, 2**32 - 1)
row_numbers = st.integers(1, 5)
widths = st.integers(1, 6)


def draw_mask(rng, rows, width):
    """Marks of scored tokens: at least one in each row."""
    mask_bt = rng.random((rows, width)) < 0.7
    mask_bt[np.arange(rows), rng.integers(0, width, rows)] = True
    return mask_bt


def draw_log_p(rng, *shape):
    """Log-probabilities between -2 and 0, whole multiples of 1/64: their sums and differences are exact."""
    return -rng.integers(1, 129, shape) / 64


def draw_advantages(rng, rows):
    """Advantages of either sign, whole multiples of 1/8, none of them 0."""
    return rng.choice([-1, 1], rows) * rng.integers(1, 17, rows) / 8

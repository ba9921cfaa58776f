"""Compares weights row by row. Both helpers raise."""

import numpy as np

# A form makes at most four roundings of 1.2e-16, and so does its partner. On the drawn counts a fault is off by more
# than 1e-3: no draw has 1000 targets.
RTOL = 1e-14


def assert_weights(expected, weights):
    """The same rows, of the same lengths, with the same weights."""
    assert [len(row) for row in expected] == [len(row) for row in weights]
    np.testing.assert_allclose(np.concatenate(weights), np.concatenate(expected), rtol=RTOL, atol=0)


def assert_other_weights(expected, weights):
    """The same rows, of the same lengths, with at least one weight that is clearly another."""
    assert [len(row) for row in expected] == [len(row) for row in weights]
    off = np.abs(np.concatenate(weights) / np.concatenate(expected) - 1).max()
    assert off > 1e-3, f"all weights agree within {off}"


def total(weights):
    """The sum of all weights."""
    return np.concatenate(weights).sum()

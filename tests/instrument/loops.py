"""Small pieces of training loops, and how their windows are compared."""

import numpy as np
import torch

from instrument import make_batch

ROWS = ((5, 9, 7, 5, 11, 6), (8, 5, 4, 9, 7), (12, 6, 10))


def batches():
    """One batch per row."""
    return [make_batch([row]) for row in ROWS]


def sgd(model, lr=0.0):
    """An optimizer on what trains."""
    return torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr)


def train(model, rows, labels=None, factor=1.0):
    """One backward over all rows."""
    (factor * model(**make_batch(rows, labels)).loss).backward()


def assert_window_weights(expected, report):
    """[window][row] one weight for all targets of a row; 1e-6 is far below what is told apart here."""
    assert [len(rows) for rows in expected] == [len(window.rows) for window in report.windows]
    for weights, window in zip(expected, report.windows):
        for weight, row in zip(weights, window.rows):
            np.testing.assert_allclose(row.weight, weight, rtol=1e-6)

"""One window on a tiny model whose gradients a test changes before the step."""

import torch

from instrument import watch
from tests.instrument.loops import ROWS, batches


def window(model, optimizer, between=lambda: None, factor=1.0, **options):
    """One window of three micro-batches, summed to `factor` times a token mean; `between` runs before the step."""
    total = sum(len(row) - 1 for row in ROWS) / factor
    with watch(model, optimizer, **options) as report:
        for batch, row in zip(batches(), ROWS):
            (model(**batch).loss * ((len(row) - 1) / total)).backward()
        between()
        optimizer.step()
    return report


def only(report):
    """The one fault of the one window, and its stage."""
    (verdict,) = report.verdicts
    (fault,) = verdict.faults
    return verdict.stage, fault


def sgd(model, lr=0.1):
    return torch.optim.SGD(model.parameters(), lr=lr)


def scale(some, factor):
    for parameter in some:
        parameter.grad.mul_(factor)

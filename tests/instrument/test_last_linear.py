"""The last matrix that trains: what arrives at its positions adds up to its gradient, rows with signs in turn."""

import torch
from torch import nn

from instrument.last_linear import LastLinear


def heard(model):
    """What the last matrix of a model is given, and it."""
    taken = []
    last = LastLinear(model, lambda *given: taken.append(given), {})
    last.attach(lambda call, *args: call(*args))
    return last, taken


def test_contributions_add_up_to_the_rows_with_signs_in_turn():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5, bias=False)).double()
    last, taken = heard(model)

    model(torch.randn(2, 6, 3, dtype=torch.float64)).square().sum().backward()

    (value, size, terms) = taken[0]
    rows = model[1].weight.grad
    torch.testing.assert_close(last.gradient(), rows[0] - rows[1] + rows[2] - rows[3] + rows[4])
    torch.testing.assert_close(last.gradient(), value)
    assert (size >= value.abs()).all()
    assert terms == 2 * 6 + 5


def test_the_last_one_that_trains_is_taken_and_has_no_gradient_before_backward():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5))
    model[1].requires_grad_(False)
    last, _ = heard(model)

    assert last.module is model[0]
    assert last.gradient() is None


def test_nothing_is_heard_when_it_was_taken_off():
    model = nn.Sequential(nn.Linear(3, 4))
    last, taken = heard(model)
    last.detach()

    model(torch.randn(2, 3)).sum().backward()

    assert taken == []

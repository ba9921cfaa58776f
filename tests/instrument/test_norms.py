"""The norm of each parameter's gradient, where it has one."""

import numpy as np
import pytest
import torch

from instrument.norms import in_numbers, is_not_zero, norms


def test_a_parameter_that_is_a_view_has_no_norm_and_warns_nobody():
    whole = torch.ones(4, requires_grad=True)
    view = whole[:2]
    (3 * view.sum()).backward()

    np.testing.assert_allclose(norms([view, whole]).numbers(), [np.nan, 3 * np.sqrt(2)], rtol=1e-6)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_gradient_that_is_not_finite_has_no_finite_norm(value):
    parameter = torch.ones(2, requires_grad=True)
    parameter.grad = torch.tensor([1.0, value])

    assert norms([parameter]).numbers().tolist() == [np.inf]


def test_norms_of_several_types_stand_in_the_order_of_their_parameters():
    kinds = (torch.float64, torch.float32, torch.float64, torch.float32)
    held = [torch.nn.Parameter(torch.ones(2, dtype=kind)) for kind in kinds]
    for number, parameter in enumerate(held[:3]):
        parameter.grad = torch.full_like(parameter, number)
    held.insert(1, torch.nn.Parameter(torch.ones(2**17 + 1)))
    held[1].grad = torch.ones(2**17 + 1)

    found = norms(held)

    assert found.finite()
    np.testing.assert_allclose(found.numbers(), [0, np.sqrt(2**17 + 1), np.sqrt(2), 2 * np.sqrt(2), np.nan], rtol=1e-6)


def test_no_gradient_at_all_is_finite_and_has_no_norm():
    found = norms([torch.nn.Parameter(torch.ones(2))])

    assert found.finite()
    assert np.isnan(found.numbers()).tolist() == [True]


def test_scalars_are_read_in_their_order_whatever_holds_them():
    given = [torch.tensor(1.0), 2, torch.tensor([3.0]), torch.tensor(4.0, dtype=torch.float64), 5.0]

    assert in_numbers(given).tolist() == [1, 2, 3, 4, 5]
    assert in_numbers([]).tolist() == []


@pytest.mark.parametrize(
    ("gradient", "told"),
    [
        (torch.zeros(3, 2), False),
        (torch.zeros(0), False),
        (torch.tensor([0.0, 0.0, -1e-45]), True),
        (torch.tensor([1e-45, 0.0]), True),
        (torch.tensor([0.0, np.nan]), True),
        (torch.tensor([[1.0, 0.0], [2.0, 0.0]])[:, 1], False),
        (torch.zeros(2, 2).to_sparse(), False),
        (torch.tensor([0.0, 3.0]).to_sparse(), True),
    ],
)
def test_a_gradient_is_zero_when_every_element_of_it_is(gradient, told):
    assert bool(is_not_zero(gradient)) == told

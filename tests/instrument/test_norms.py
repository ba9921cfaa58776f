"""The norm of each parameter's gradient, where it has one."""

import numpy as np
import pytest
import torch

from instrument.norms import norms, numbers


def test_a_parameter_that_is_a_view_has_no_norm_and_warns_nobody():
    whole = torch.ones(4, requires_grad=True)
    view = whole[:2]
    (3 * view.sum()).backward()

    np.testing.assert_allclose(numbers(norms([view, whole])), [np.nan, 3 * np.sqrt(2)], rtol=1e-6)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_gradient_that_is_not_finite_has_no_finite_norm(value):
    parameter = torch.ones(2, requires_grad=True)
    parameter.grad = torch.tensor([1.0, value])

    assert numbers(norms([parameter])).tolist() == [np.inf]

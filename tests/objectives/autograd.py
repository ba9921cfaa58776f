"""Compares a closed form with the gradient that autograd takes of a reference loss. The helper raises."""

import numpy as np
import torch

from closed_forms.rounding import unit_roundoff


def negative_gradient(loss, *leaves):
    """What autograd says of -dL/dx, [leaf] arrays of the shapes of the leaves.

    Args:
        loss: function of tensors that require a gradient, to a scalar tensor.
        leaves: float64 arrays.
    """
    tensors = [torch.tensor(np.asarray(leaf), dtype=torch.float64, requires_grad=True) for leaf in leaves]
    gradients = torch.autograd.grad(loss(*tensors), tensors, allow_unused=True, materialize_grads=True)
    return [-gradient.numpy() for gradient in gradients]


def assert_gradient(gradient, weights, argument, addend=None, dtype="float64"):
    """The same numbers, as far as a dtype can tell.

    Form and autograd each take no more than 60 roundings of u or, for an exponential or a logarithm, 2 u; what is
    rounded before an exponential comes out multiplied by the size of its argument:

        |error| <= 2 120 u (1 + argument) addend

    Args:
        argument: largest absolute value that either side exponentiates.
        addend: largest absolute value among the addends of a weight, of which sums may cancel; the largest weight
            where nothing is added up.
        dtype: in which autograd computed.
    """
    assert weights.dtype == np.float64
    largest = np.abs(gradient).max(initial=0) if addend is None else addend
    tolerance = 2 * 120 * unit_roundoff(dtype) * (1 + argument) * largest
    np.testing.assert_allclose(weights, gradient, rtol=0, atol=tolerance)

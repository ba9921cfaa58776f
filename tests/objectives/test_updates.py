"""The closed forms of a step, against torch.optim and torch.nn.utils themselves."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import updates

rates, decays, seeds = st.floats(1e-3, 0.5), st.sampled_from([0.0, 0.1]), st.integers(0, 2**16)


def drawn(seed, count=4):
    """A parameter and gradients for it, float64."""
    made = torch.Generator().manual_seed(seed)
    parameter = torch.randn(5, generator=made, dtype=torch.float64, requires_grad=True)
    return parameter, [torch.randn(5, generator=made, dtype=torch.float64) for _ in range(count)]


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("options", [{"foreach": False}, {"foreach": True}, {"fused": True}])
@given(seed=seeds, lr=rates, decay=decays)
def test_adam_steps_by_the_closed_form(decoupled, options, seed, lr, decay):
    parameter, gradients = drawn(seed)
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    optimizer = kind([parameter], lr=lr, betas=(0.8, 0.95), eps=1e-6, weight_decay=decay, **options)
    m, v = np.zeros(5), np.zeros(5)
    for number, gradient in enumerate(gradients, 1):
        p = parameter.detach().numpy().copy()
        parameter.grad = gradient
        optimizer.step()
        g = gradient.numpy() if decoupled else updates.decayed(gradient.numpy(), p, decay)
        m, v = updates.moments(g, m, v, 0.8, 0.95)
        due = updates.adam_change(p, m, v, number, lr, 0.8, 0.95, 1e-6, decay if decoupled else 0.0)

        np.testing.assert_allclose(parameter.detach().numpy() - p, due, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(optimizer.state[parameter]["exp_avg"], m, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(optimizer.state[parameter]["exp_avg_sq"], v, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("momentum", "nesterov", "dampening"), [(0, False, 0), (0.9, False, 0.2), (0.9, True, 0)])
@given(seed=seeds, lr=rates, decay=decays)
def test_sgd_steps_by_the_closed_form(momentum, nesterov, dampening, seed, lr, decay):
    parameter, gradients = drawn(seed)
    options = {"momentum": momentum, "nesterov": nesterov, "dampening": dampening, "weight_decay": decay}
    optimizer, b = torch.optim.SGD([parameter], lr=lr, **options), None
    for gradient in gradients:
        p = parameter.detach().numpy().copy()
        parameter.grad = gradient
        optimizer.step()
        g = updates.decayed(gradient.numpy(), p, decay)
        b = updates.buffer(g, b, momentum, dampening) if momentum else None
        due = updates.sgd_change(g, b, lr, momentum, nesterov)

        np.testing.assert_allclose(parameter.detach().numpy() - p, due, rtol=1e-9, atol=1e-12)


@given(seed=seeds, max_norm=st.floats(0.1, 10))
def test_a_gradient_is_clipped_by_the_closed_form(seed, max_norm):
    parameter, (one, other) = drawn(seed, 2)
    second = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    parameter.grad, second.grad = one.clone(), other.clone()
    factor = updates.clip_factor([float(one.norm()), float(other.norm())], max_norm)
    torch.nn.utils.clip_grad_norm_([parameter, second], max_norm)

    np.testing.assert_allclose(parameter.grad, factor * one, rtol=1e-9)
    np.testing.assert_allclose(second.grad, factor * other, rtol=1e-9)


@given(seed=seeds, lr=rates, decay=decays)
def test_rounding_in_float32_stays_below_its_bound(seed, lr, decay):
    parameter, gradients = drawn(seed)
    parameter = parameter.detach().float().requires_grad_(True)
    optimizer = torch.optim.AdamW([parameter], lr=lr, weight_decay=decay)
    for number, gradient in enumerate(gradients, 1):
        p = parameter.detach().double().numpy().copy()
        parameter.grad = gradient.float()
        optimizer.step()
        m, v = (optimizer.state[parameter][name].double().numpy() for name in ("exp_avg", "exp_avg_sq"))
        due = updates.adam_change(p, m, v, number, lr, 0.9, 0.999, 1e-8, decay)
        terms = np.abs(due + lr * decay * p) + np.abs(lr * decay * p)

        off = np.abs(parameter.detach().double().numpy() - p - due)
        assert (off <= updates.change_error(p, due, terms, "float32")).all()

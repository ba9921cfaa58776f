"""Supervised losses and regularizers, written as their papers do, against their closed forms."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import regularizers, supervised
from tests.closed_forms.tokens import draw_log_p, draw_mask, row_numbers, seeds, widths
from tests.objectives.autograd import assert_gradient, negative_gradient

shares = st.sampled_from([0, 0.1, 0.5, 1])
coefficients = st.sampled_from([0.001, 1, 3])


def draw_logits(seed):
    return np.random.default_rng(seed).integers(-64, 65, (4, 6)) / 16


@given(seeds, row_numbers, widths)
def test_nll_of_masked_tokens(seed, rows, width):
    rng = np.random.default_rng(seed)
    mask_bt, log_p = draw_mask(rng, rows, width), draw_log_p(rng, rows, width)

    (gradient,) = negative_gradient(lambda x: -x[torch.tensor(mask_bt)].sum() / 11, log_p)
    assert_gradient(gradient, supervised.nll(mask_bt, 11), argument=0)


@given(seeds, row_numbers, widths)
def test_dft_of_masked_tokens(seed, rows, width):
    rng = np.random.default_rng(seed)
    mask_bt, log_p = draw_mask(rng, rows, width), draw_log_p(rng, rows, width)

    def loss(x):
        return -(torch.exp(x).detach() * x)[torch.tensor(mask_bt)].sum() / 11

    (gradient,) = negative_gradient(loss, log_p)
    assert_gradient(gradient, supervised.dft(log_p, mask_bt, 11), argument=2)


@given(seeds, shares)
def test_label_smoothing(seed, epsilon):
    logits = draw_logits(seed)
    targets = np.random.default_rng(seed).integers(0, 6, 4)

    def loss(z):
        return torch.nn.functional.cross_entropy(z, torch.tensor(targets), label_smoothing=epsilon, reduction="sum")

    (gradient,) = negative_gradient(loss, logits)
    push = regularizers.smoothed_cross_entropy(logits, targets, epsilon)
    assert_gradient(gradient, push, argument=8 + np.log(6), addend=1)


@given(seeds, coefficients)
def test_z_loss(seed, coefficient):
    logits = draw_logits(seed)

    (gradient,) = negative_gradient(lambda z: coefficient * (torch.logsumexp(z, 1) ** 2).sum(), logits)
    assert_gradient(gradient, regularizers.z_loss(logits, coefficient), argument=8 + np.log(6), addend=12 * coefficient)


@given(seeds, coefficients)
def test_entropy_bonus(seed, coefficient):
    logits = draw_logits(seed)

    def loss(z):
        p = torch.softmax(z, 1)
        return coefficient * (p * torch.log(p)).sum()

    (gradient,) = negative_gradient(loss, logits)
    push = regularizers.entropy_bonus(logits, coefficient)
    assert_gradient(gradient, push, argument=8 + np.log(6), addend=10 * coefficient)


@given(seeds, coefficients, st.integers(1, 6))
def test_expert_balance(seed, coefficient, chosen):
    logits = draw_logits(seed) + np.arange(6) / 1024  # no two alike, so that the choice is one

    def loss(r):
        p = torch.softmax(r, 1)
        used = torch.nn.functional.one_hot(torch.topk(p, chosen).indices, 6).sum(1).double()
        return coefficient * 6 * (used.mean(0) * p.mean(0)).sum()

    (gradient,) = negative_gradient(loss, logits)
    push = regularizers.expert_balance(logits, chosen, coefficient)
    assert_gradient(gradient, push, argument=8 + np.log(6), addend=6 * coefficient * chosen)

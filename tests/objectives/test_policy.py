"""GRPO's loss types at both levels and RLOO against autograd, with clipping, KL, multipliers and empty rows."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from closed_forms import policy, policy_tokens
from tests.closed_forms.tokens import row_numbers, seeds, widths
from tests.objectives.autograd import assert_gradient, negative_gradient
from tests.objectives.policy_forms import COUNTS, LOSS_TYPES, Drawn, bounds, kl_term, policy_term, share
from tests.objectives.policy_losses import grpo

levels = st.sampled_from(["token", "sequence"])
deltas = st.sampled_from([None, 1.05, 1.4])
every_loss_type = pytest.mark.parametrize("loss_type", LOSS_TYPES)


def autograd(drawn, loss_type, level, low, high, delta, beta, corrected, kept, sampler):
    fixed = [torch.tensor(x) for x in (drawn.old, drawn.reference, drawn.advantage)]
    mask, kept, sampler = (torch.as_tensor(x).double() for x in (drawn.mask, kept, sampler))

    def loss(logp):
        options = mask, low, high, delta, beta, corrected, kept, sampler, COUNTS
        return grpo(loss_type, level, logp, *fixed, *options)

    return negative_gradient(loss, drawn.logp)[0]


@every_loss_type
@given(seeds, row_numbers, widths, levels, deltas)
@example(0, 5, 6, "token", 1.05)
@example(0, 5, 6, "token", 1.4)
@example(0, 5, 6, "sequence", 1.05)
@example(0, 5, 6, "sequence", None)
def test_policy_alone(loss_type, seed, rows, width, level, delta):
    drawn = Drawn(seed, rows, width)
    ones = np.ones((rows, 1))

    gradient = autograd(drawn, loss_type, level, 0.2, 0.3, delta, 0.0, False, ones, ones)
    term = policy_term(drawn, loss_type, level, 0.2, 0.3, delta, 1.0, ones)
    assert_gradient(gradient, share(loss_type, drawn.mask) * term, *bounds(loss_type))


@every_loss_type
@given(seeds, row_numbers, widths, levels, st.booleans())
@example(0, 5, 6, "token", True)
@example(0, 5, 6, "sequence", False)
def test_policy_and_penalty(loss_type, seed, rows, width, level, corrected):
    drawn = Drawn(seed, rows, width)
    ones = np.ones((rows, 1))

    gradient = autograd(drawn, loss_type, level, 0.2, 0.3, None, 0.5, corrected, ones, ones)
    term = policy_term(drawn, loss_type, level, 0.2, 0.3, None, 1.0, ones) + kl_term(drawn, level, 0.5, corrected)
    assert_gradient(gradient, share(loss_type, drawn.mask) * term, *bounds(loss_type))


@every_loss_type
@given(seeds, row_numbers, widths, levels, st.booleans())
@example(0, 5, 6, "token", True)
@example(0, 5, 6, "sequence", False)
def test_multipliers_spare_the_penalty(loss_type, seed, rows, width, level, by_row):
    drawn = Drawn(seed, rows, width)
    sampler = drawn.row_sampler if by_row else drawn.token_sampler

    gradient = autograd(drawn, loss_type, level, 0.2, 0.3, None, 0.5, True, drawn.kept, sampler)
    term = policy_term(drawn, loss_type, level, 0.2, 0.3, None, drawn.kept, sampler) + kl_term(drawn, level, 0.5, True)
    assert_gradient(gradient, share(loss_type, drawn.mask) * term, *bounds(loss_type))


@given(seeds, row_numbers, widths)
def test_rloo(seed, rows, width):
    drawn = Drawn(seed, rows, width)
    mask, old, advantage = (torch.tensor(x) for x in (drawn.mask, drawn.old, drawn.advantage))

    def loss(logp):
        ratio = torch.exp((logp * mask).sum(1) - (old * mask).sum(1))
        return -torch.minimum(ratio * advantage, torch.clamp(ratio, 0.8, 1.3) * advantage).mean() / 2

    (gradient,) = negative_gradient(loss, drawn.logp)
    q_b = ((drawn.logp - drawn.old) * drawn.mask).sum(1, keepdims=True)
    factor = policy.clipped(q_b, drawn.advantage[:, None], 0.2, 0.3)
    weights = policy_tokens.by_batch(drawn.mask, 2) * policy_tokens.at_tokens(drawn.mask, factor)
    assert_gradient(gradient, weights, argument=3, addend=2 * np.exp(3))

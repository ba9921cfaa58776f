"""CPO, SimPO, AlphaPO, TPO, OnlineDPO, ORPO, A*-PO and GMPO against autograd, token by token."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import logsigmoid

from closed_forms import dpo, policy, policy_tokens, reference_free
from tests.closed_forms.tokens import draw_advantages, draw_log_p, draw_mask, row_numbers, seeds, widths
from tests.objectives.autograd import assert_gradient, negative_gradient
from tests.objectives.pair_forms import cpo_weights

betas = st.sampled_from([0.125, 0.5, 2])
pairs_drawn = st.integers(1, 4)
MEANS = ["simpo", "ipo"]


def draw_sides(seed, pairs):
    """[2] masks and [2][p, t] log-probabilities of three tokens at most."""
    rng = np.random.default_rng(seed)
    return draw_mask(rng, pairs, 3), draw_mask(rng, pairs, 2), draw_log_p(rng, pairs, 3), draw_log_p(rng, pairs, 2)


def cpo(loss_type, x, y, beta, gamma, epsilon):
    """[p] losses of CPO, TPO and OnlineDPO on the scores x and y."""
    margin = x - y - (gamma / beta if loss_type == "simpo" else 0)
    return {
        "hinge": lambda: torch.clamp(1 - beta * margin, min=0),
        "ipo": lambda: (margin - 1 / (2 * beta)) ** 2,
    }.get(loss_type, lambda: -(1 - epsilon) * logsigmoid(beta * margin) - epsilon * logsigmoid(-beta * margin))()


@pytest.mark.parametrize("loss_type", ["sigmoid", "simpo", "hinge", "ipo"])
@given(seeds, pairs_drawn, betas, st.sampled_from([0.0, 0.5]))
def test_cpo_with_likelihood_of_the_chosen(loss_type, seed, pairs, beta, alpha):
    mask_c, mask_r, logp_c, logp_r = draw_sides(seed, pairs)

    def score(logp, mask):
        kept = torch.tensor(mask).double()
        x = (logp * kept).sum(1) / (kept.sum(1) if loss_type in MEANS else 1)
        return (1 - torch.exp(x) ** -alpha) / alpha if alpha else x

    def loss(c, r):
        pair = cpo(loss_type, score(c, mask_c), score(r, mask_r), beta, 0.5, 0.25)
        return pair.mean() - 0.75 * c[torch.tensor(mask_c)].mean()

    lengths = [mask.sum(1) if loss_type in MEANS else 1 for mask in (mask_c, mask_r)]
    sums = [(logp * mask).sum(1) for logp, mask in ((logp_c, mask_c), (logp_r, mask_r))]
    (x, slope_x), (y, slope_y) = (reference_free.alphapo_score(s / n, alpha) for s, n in zip(sums, lengths))
    w_x, w_y = cpo_weights(loss_type, x, y, beta)
    chosen = mask_c * (w_x * slope_x / lengths[0])[:, None] + 0.75 * dpo.sft(mask_c)
    rejected = mask_r * (w_y * slope_y / lengths[1])[:, None]

    scores, slopes = 2 * np.exp(3), np.exp(3)
    for gradient, weight in zip(negative_gradient(loss, logp_c, logp_r), (chosen, rejected)):
        assert_gradient(gradient, weight, argument=2 * beta * scores, addend=(8 + beta + 4 * scores) * slopes)


@given(seeds, pairs_drawn, betas)
def test_orpo(seed, pairs, beta):
    mask_c, mask_r, logp_c, logp_r = draw_sides(seed, pairs)

    def log_odds(logp, mask):
        p = torch.exp((logp * torch.tensor(mask)).sum(1) / torch.tensor(mask).sum(1))
        return torch.log(p / (1 - p))

    def loss(c, r):
        return -beta * logsigmoid(log_odds(c, mask_c) - log_odds(r, mask_r)).mean()

    means = [(logp * mask).sum(1) / mask.sum(1) for logp, mask in ((logp_c, mask_c), (logp_r, mask_r))]
    weights = reference_free.orpo(*means, beta)
    # 1 - p is at least 1/65, so that its rounding is relative to 1/65
    for gradient, w, mask in zip(negative_gradient(loss, logp_c, logp_r), weights, (mask_c, mask_r)):
        assert_gradient(gradient, mask * (w / mask.sum(1))[:, None], argument=65, addend=65 * beta)


@given(seeds, row_numbers, widths, betas)
def test_a2po(seed, rows, width, beta):
    rng = np.random.default_rng(seed)
    mask, logp, reference = draw_mask(rng, rows, width), draw_log_p(rng, rows, width), draw_log_p(rng, rows, width)
    advantage = draw_advantages(rng, rows)

    def loss(l_bt):
        u = ((l_bt - torch.tensor(reference)) * torch.tensor(mask)).sum(1)
        return ((beta * u - torch.tensor(advantage)) ** 2).mean()

    (gradient,) = negative_gradient(loss, logp)
    w_b = reference_free.a2po(((logp - reference) * mask).sum(1), advantage, beta)
    assert_gradient(gradient, mask * w_b[:, None], argument=0, addend=2 * beta * (12 * beta + 2))


@given(seeds, row_numbers, widths)
def test_gmpo(seed, rows, width):
    rng = np.random.default_rng(seed)
    mask, advantage = rng.random((rows, width)) < 0.7, draw_advantages(rng, rows)
    old = -rng.integers(1, 2**20, (rows, width)) / 2**20 - 1
    logp = old + rng.integers(-(2**20), 2**20, (rows, width)) / 2**20

    def loss(l_bt):
        q = l_bt - torch.tensor(old)
        held = torch.where(torch.tensor(advantage)[:, None] > 0, q.clamp(max=0.4), q.clamp(min=-0.3))
        kept = torch.tensor(mask).double()
        ratio = torch.exp((held * kept).sum(1) / kept.sum(1).clamp(min=1))
        return -(ratio * torch.tensor(advantage)).mean() / 2

    (gradient,) = negative_gradient(loss, logp)
    weights = policy_tokens.by_batch(mask, 2) * policy.geometric(logp - old, advantage, mask, 0.3, 0.4)
    assert_gradient(gradient, weights, argument=1, addend=2 * np.e)

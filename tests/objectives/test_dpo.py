"""All losses of TRL's DPO against autograd: with every divergence, with ld_alpha, with WPO, and the list of them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import divergences, dpo
from tests.closed_forms.tokens import seeds
from tests.objectives.autograd import assert_gradient, negative_gradient
from tests.objectives.dpo_forms import ALPHA, DIVERGENCES, ON_RATIOS, ON_SCORES, TAU, Drawn, bounds, closed_form
from tests.objectives.pairs import divergence_score, log_ratios, pair_loss

pairs_drawn = st.integers(1, 4)
betas = st.sampled_from([0.125, 0.5, 2])
ld_alphas = st.sampled_from([0, 0.25, 1])
epsilons = st.sampled_from([0.125, 0.25])


def ratios(drawn, policy, ld_alpha):
    """[2][p] log-ratios in torch."""
    return [
        log_ratios(logp, torch.tensor(r), torch.tensor(m).double(), torch.tensor(drawn.shared), ld_alpha)
        for logp, r, m in zip(policy, drawn.reference, drawn.masks)
    ]


def margins(drawn, values, ld_alpha):
    """[p] chosen minus rejected sums of one model in torch."""
    chosen, rejected = (
        log_ratios(logp, torch.zeros(m.shape), torch.tensor(m).double(), torch.tensor(drawn.shared), ld_alpha)
        for logp, m in zip(values, drawn.masks)
    )
    return chosen - rejected


def reference_losses(drawn, policy, loss_type, beta, epsilon, divergence, ld_alpha):
    u_c, u_r = ratios(drawn, policy, ld_alpha)
    s_c, s_r = (divergence_score(u, divergence, ALPHA) for u in (u_c, u_r))
    margin, base = (margins(drawn, model, ld_alpha) for model in (policy, [torch.tensor(r) for r in drawn.reference]))
    n_c, n_r = (torch.tensor(n) for n in drawn.lengths)
    return pair_loss(loss_type, u_c, u_r, s_c, s_r, n_c, n_r, margin, base, beta, epsilon, TAU)


def assert_same_sides(drawn, gradients, weights, argument, addend):
    for gradient, weight, mask in zip(gradients, weights, drawn.masks):
        assert_gradient(gradient, weight, argument, addend)
        assert (weight[~mask] == 0).all()


@pytest.mark.parametrize("loss_type", ON_SCORES + ON_RATIOS)
@given(seeds, pairs_drawn, betas, epsilons, ld_alphas)
def test_every_loss_type(loss_type, seed, pairs, beta, epsilon, ld_alpha):
    drawn = Drawn(seed, pairs)

    def loss(*policy):
        return reference_losses(drawn, policy, loss_type, beta, epsilon, "reverse_kl", ld_alpha).mean()

    weights = closed_form(drawn, loss_type, beta, epsilon, "reverse_kl", ld_alpha)
    gradients = negative_gradient(loss, *drawn.policy)
    assert_same_sides(drawn, gradients, weights, *bounds(drawn, loss_type, beta, epsilon, "reverse_kl"))


@pytest.mark.parametrize("divergence", DIVERGENCES)
@given(st.sampled_from(ON_SCORES), seeds, betas, epsilons)
def test_every_divergence_under_any_loss_type(divergence, loss_type, seed, beta, epsilon):
    drawn = Drawn(seed, 3)

    def loss(*policy):
        return reference_losses(drawn, policy, loss_type, beta, epsilon, divergence, 1).mean()

    weights = closed_form(drawn, loss_type, beta, epsilon, divergence, 1)
    gradients = negative_gradient(loss, *drawn.policy)
    assert_same_sides(drawn, gradients, weights, *bounds(drawn, loss_type, beta, epsilon, divergence))


@given(seeds, pairs_drawn, betas)
def test_weighted_preference_optimization(seed, pairs, beta):
    drawn = Drawn(seed, pairs)
    squares = [-np.random.default_rng(seed + i).integers(1, 64, m.shape) / 64 for i, m in enumerate(drawn.masks)]

    def loss(*policy):
        losses = reference_losses(drawn, policy, "sigmoid", beta, 0.25, "reverse_kl", 1)
        for logp, square, mask in zip(policy, squares, drawn.masks):
            kept = torch.tensor(mask).double()
            losses = losses * torch.exp(((logp - torch.tensor(square)) * kept).sum(1) / kept.sum(1)).detach()
        return losses.mean()

    q_c, q_r = (dpo.wpo_factor(logp, s, m) for logp, s, m in zip(drawn.policy, squares, drawn.masks))
    weights = [w * (q_c * q_r)[:, None] for w in closed_form(drawn, "sigmoid", beta, 0.25, "reverse_kl", 1)]
    gradients = negative_gradient(loss, *drawn.policy)
    assert_same_sides(drawn, gradients, weights, argument=2 * beta * 5 / 2 + 3, addend=beta * np.exp(2))


@given(seeds, pairs_drawn)
def test_sft_on_the_chosen_tokens(seed, pairs):
    drawn = Drawn(seed, pairs)

    (gradient,) = negative_gradient(lambda logp: -logp[torch.tensor(drawn.masks[0])].mean(), drawn.policy[0])
    assert_gradient(gradient, dpo.sft(drawn.masks[0]), argument=0)


@given(seeds, pairs_drawn, betas, st.permutations(ON_SCORES + ON_RATIOS))
def test_a_list_of_losses_is_the_weighted_sum(seed, pairs, beta, order):
    drawn = Drawn(seed, pairs)
    listed = dict(zip(order[:3], (1.0, 0.5, -0.25)))

    def loss(*policy):
        each = [
            weight * reference_losses(drawn, policy, name, beta, 0.25, "reverse_kl", 1).mean()
            for name, weight in listed.items()
        ]
        return sum(each) - 0.75 * policy[0][torch.tensor(drawn.masks[0])].mean()

    parts = [
        [weight * side for side in closed_form(drawn, name, beta, 0.25, "reverse_kl", 1)]
        for name, weight in listed.items()
    ]
    chosen, rejected = (sum(side) for side in zip(*parts))
    weights = [chosen + 0.75 * dpo.sft(drawn.masks[0]), rejected]
    gradients = negative_gradient(loss, *drawn.policy)
    limits = [bounds(drawn, name, beta, 0.25, "reverse_kl") for name in listed]
    argument, addend = max(limit[0] for limit in limits), 1 + sum(limit[1] for limit in limits)
    assert_same_sides(drawn, gradients, weights, argument, addend)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@given(seeds, st.sampled_from([-1.0, 0.5, 3.0]))
def test_slope_is_the_derivative_of_the_score(divergence, seed, alpha):
    u = np.random.default_rng(seed).integers(-128, 129, 5) / 64

    (gradient,) = negative_gradient(lambda x: -divergence_score(x, divergence, alpha).sum(), u)
    assert_gradient(gradient, divergences.slope(u, divergence, alpha), argument=4, addend=np.exp(4))
    score = divergence_score(torch.tensor(u), divergence, alpha).numpy()
    assert_gradient(score, divergences.score(u, divergence, alpha), argument=4, addend=np.exp(4))

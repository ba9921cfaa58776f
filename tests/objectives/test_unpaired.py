"""KTO and the reward model against autograd."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import reward, unpaired
from tests.closed_forms.tokens import draw_log_p, draw_mask, seeds
from tests.objectives.autograd import assert_gradient, negative_gradient

betas = st.sampled_from([0.125, 0.5, 2])


@given(seeds, st.integers(2, 5), betas, st.sampled_from(["kto", "apo_zero_unpaired"]))
def test_kto(seed, rows, beta, loss_type):
    rng = np.random.default_rng(seed)
    mask, logp, reference = draw_mask(rng, rows, 4), draw_log_p(rng, rows, 4), draw_log_p(rng, rows, 4)
    desirable, mismatched = rng.integers(0, 2, rows), draw_log_p(rng, rows) + 1
    kept, good = torch.tensor(mask), torch.tensor(desirable).bool()

    def loss(policy):
        u = ((policy - torch.tensor(reference)) * kept).sum(1)
        z0 = torch.tensor(mismatched).mean().clamp(min=0) if loss_type == "kto" else 0
        value = torch.where(good, 2 * torch.sigmoid(beta * (u - z0)), 3 * torch.sigmoid(beta * (z0 - u)))
        return (torch.where(good, 2.0, 3.0) - value).mean()

    (gradient,) = negative_gradient(loss, logp)
    u_b = ((logp - reference) * mask).sum(1)
    if loss_type == "kto":
        w_b = unpaired.kto(u_b, desirable, beta, unpaired.kto_baseline(mismatched), 2, 3)
    else:
        w_b = unpaired.apo_zero_unpaired(u_b, desirable, beta, 2, 3)
    assert_gradient(gradient, mask * w_b[:, None], argument=9 * beta, addend=3 * beta)


@given(seeds, st.integers(1, 5), st.booleans(), st.sampled_from([0.0, 0.25]))
def test_reward_model(seed, pairs, with_margin, centre):
    rng = np.random.default_rng(seed)
    chosen, rejected, margin = rng.integers(-128, 129, (3, pairs)) / 64
    margin = margin if with_margin else 0.0

    def loss(c, r):
        likelihood = -torch.log(torch.sigmoid(c - r - torch.as_tensor(margin))).mean()
        return likelihood + centre * ((c + r) ** 2).mean()

    gradients = negative_gradient(loss, chosen, rejected)
    for gradient, weight in zip(gradients, reward.bradley_terry(chosen, rejected, margin, centre)):
        assert_gradient(gradient, weight, argument=6, addend=3)

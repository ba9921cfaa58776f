"""The installed DPOTrainer's own loss, on scripted log-probabilities, against the closed forms."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import dpo
from tests.closed_forms.tokens import seeds
from tests.objectives.autograd import assert_gradient
from tests.objectives.dpo_forms import ALPHA, DIVERGENCES, ON_RATIOS, ON_SCORES, TAU, Drawn, bounds, closed_form
from tests.objectives.trl_trainers import build, leaf, script, weights, with_prompt

# TRL 1.16 reads the old name
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")


@pytest.fixture(scope="module")
def trainer(tmp_path_factory):
    return build("dpo", tmp_path_factory.mktemp("dpo"), discopop_tau=TAU)


def stacked(sides):
    """Chosen above rejected, padded to one width, as the collator does."""
    width = max(side.shape[1] for side in sides)
    return np.concatenate([np.pad(side, ((0, 0), (0, width - side.shape[1]))) for side in sides])


def measured(trainer, drawn, losses, beta=0.5, epsilon=0.25, divergence="reverse_kl", ld_alpha=None, squares=None):
    """[2p, t] weights of the tokens in the trainer's loss."""
    trainer.loss_types, trainer.loss_weights = list(losses), list(losses.values())
    trainer.beta, trainer.label_smoothing, trainer.ld_alpha = beta, epsilon, ld_alpha
    trainer.f_divergence_type, trainer.f_alpha_divergence_coef = divergence, ALPHA
    trainer.use_weighting = squares is not None
    policy = leaf(stacked(drawn.policy))
    script(trainer.model, policy, squares=None if squares is None else torch.tensor(stacked(squares)))
    script(trainer.ref_model, torch.tensor(stacked(drawn.reference)))
    return weights(trainer, with_prompt(stacked(drawn.masks)), policy)


@pytest.mark.parametrize("loss_type", ON_SCORES + ON_RATIOS)
@given(
    seed=seeds, pairs=st.integers(1, 4), beta=st.sampled_from([0.125, 0.5, 2]), ld_alpha=st.sampled_from([None, 0.25])
)
def test_every_loss_type(trainer, loss_type, seed, pairs, beta, ld_alpha):
    drawn = Drawn(seed, pairs)

    found = measured(trainer, drawn, {loss_type: 1.0}, beta, ld_alpha=ld_alpha)
    expected = closed_form(drawn, loss_type, beta, 0.25, "reverse_kl", 1 if ld_alpha is None else ld_alpha)
    assert_gradient(found, stacked(expected), *bounds(drawn, loss_type, beta, 0.25, "reverse_kl"))


@pytest.mark.parametrize("divergence", [name for name in DIVERGENCES if name != "alpha_divergence"])
@given(loss_type=st.sampled_from(ON_SCORES), seed=seeds)
def test_every_divergence(trainer, divergence, loss_type, seed):
    drawn = Drawn(seed, 3)

    found = measured(trainer, drawn, {loss_type: 1.0}, divergence=divergence)
    expected = closed_form(drawn, loss_type, 0.5, 0.25, divergence, 1)
    assert_gradient(found, stacked(expected), *bounds(drawn, loss_type, 0.5, 0.25, divergence))


@given(seed=seeds, pairs=st.integers(1, 4))
def test_weighted_preference_optimization(trainer, seed, pairs):
    drawn = Drawn(seed, pairs)
    squares = [-np.random.default_rng(seed + i).integers(1, 64, m.shape) / 64 for i, m in enumerate(drawn.masks)]

    found = measured(trainer, drawn, {"sigmoid": 1.0}, squares=squares)
    q_c, q_r = (dpo.wpo_factor(logp, s, m) for logp, s, m in zip(drawn.policy, squares, drawn.masks))
    plain = closed_form(drawn, "sigmoid", 0.5, 0.25, "reverse_kl", 1)
    assert_gradient(found, stacked([w * (q_c * q_r)[:, None] for w in plain]), argument=6, addend=np.exp(2))


@given(seed=seeds, pairs=st.integers(1, 4))
def test_a_list_of_losses(trainer, seed, pairs):
    drawn = Drawn(seed, pairs)

    found = measured(trainer, drawn, {"sigmoid": 0.75, "bco_pair": -0.5, "sft": 2.0})
    sigmoid, bco = (closed_form(drawn, name, 0.5, 0.25, "reverse_kl", 1) for name in ("sigmoid", "bco_pair"))
    chosen = 0.75 * sigmoid[0] - 0.5 * bco[0] + 2 * dpo.sft(drawn.masks[0])
    assert_gradient(found, stacked([chosen, 0.75 * sigmoid[1] - 0.5 * bco[1]]), argument=3, addend=3)


@given(seed=seeds)
def test_label_smoothing_of_the_sigmoid_loss_is_ignored(trainer, seed):
    drawn = Drawn(seed, 3)

    smoothed = measured(trainer, drawn, {"sigmoid": 1.0}, epsilon=0.3)
    np.testing.assert_array_equal(measured(trainer, drawn, {"sigmoid": 1.0}, epsilon=0.0), smoothed)

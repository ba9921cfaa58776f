"""The own losses of the installed CPOTrainer, ORPOTrainer and GMPOTrainer, and of SDPO, against the closed forms."""

import importlib
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import distillation, policy, policy_tokens, reference_free
from tests.closed_forms.tokens import draw_log_p, draw_mask, row_numbers, seeds, widths
from tests.objectives.autograd import assert_gradient, negative_gradient
from tests.objectives.pair_forms import cpo_weights
from tests.objectives.policy_forms import Drawn
from tests.objectives.trl_trainers import build_experimental, completions, leaf, script, weights

betas = st.sampled_from([0.125, 0.5, 2])


@pytest.fixture(scope="module")
def cpo(tmp_path_factory):
    return build_experimental("cpo", "CPO", tmp_path_factory.mktemp("cpo"), max_length=16)


@pytest.fixture(scope="module")
def orpo(tmp_path_factory):
    return build_experimental("orpo", "ORPO", tmp_path_factory.mktemp("orpo"), max_length=16)


@pytest.fixture(scope="module")
def gmpo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gmpo")
    return build_experimental("gmpo", "GMPO", folder, num_generations=2, per_device_train_batch_size=2)


@pytest.fixture(scope="module")
def sdpo():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "APIs here are unstable"
        return importlib.import_module("trl.experimental.sdpo.loss_utils")


@pytest.mark.parametrize("loss_type", ["sigmoid", "simpo", "hinge", "ipo"])
@given(seed=seeds, pairs=st.integers(1, 4), beta=betas, alpha=st.sampled_from([0.0, 0.5]))
def test_cpo(cpo, loss_type, seed, pairs, beta, alpha):
    chosen, rejected = draw_log_p(np.random.default_rng(seed), 2, pairs)
    cpo.loss_type, cpo.beta, cpo.alpha, cpo.label_smoothing, cpo.simpo_gamma = loss_type, beta, alpha, 0.25, 0.5

    gradients = negative_gradient(lambda c, r: cpo.cpo_loss(c, r)[0].mean(), chosen, rejected)
    (x, slope_x), (y, slope_y) = (reference_free.alphapo_score(side, alpha) for side in (chosen, rejected))
    w_x, w_y = cpo_weights(loss_type, x, y, beta)
    for gradient, weight in zip(gradients, (w_x * slope_x, w_y * slope_y)):
        assert_gradient(gradient, weight, argument=4 * beta * np.e, addend=(8 + beta + 8 * np.e) * np.e)


@given(seed=seeds, pairs=st.integers(1, 4), beta=betas)
def test_orpo(orpo, seed, pairs, beta):
    chosen, rejected = draw_log_p(np.random.default_rng(seed), 2, pairs)
    orpo.beta = beta

    gradients = negative_gradient(lambda c, r: -orpo.odds_ratio_loss(c, r)[0].mean(), chosen, rejected)
    # TRL computes it in float32, and 1 - p is at least 1/65
    for gradient, weight in zip(gradients, reference_free.orpo(chosen, rejected, beta)):
        assert_gradient(gradient, weight, argument=65, dtype="float32")


@given(seed=seeds, rows=row_numbers, width=widths, accumulation=st.integers(1, 3))
def test_gmpo(gmpo, seed, rows, width, accumulation):
    drawn = Drawn(seed, rows, width)
    gmpo.epsilon_low, gmpo.epsilon_high, gmpo.beta = 0.3, 0.4, 0.0
    gmpo.current_gradient_accumulation_steps, gmpo.top_entropy_quantile = accumulation, 1.0
    table = leaf(drawn.logp)
    script(gmpo.model, table)

    found = weights(gmpo, completions(drawn), table)
    factor = policy.geometric(drawn.logp - drawn.old, drawn.advantage, drawn.mask, 0.3, 0.4)
    assert_gradient(found, policy_tokens.by_batch(drawn.mask, accumulation) * factor, argument=1, addend=2 * np.e)


@given(seed=seeds, beta=st.sampled_from([0.0, 0.125, 0.5, 1.0]))
def test_the_divergence_of_sdpo(sdpo, seed, beta):
    student, teacher = np.random.default_rng(seed).integers(-64, 65, (2, 4, 6)) / 16

    def loss(z):
        full = sdpo.compute_full_logit_self_distillation_loss
        return full(z, torch.tensor(teacher), distillation_alpha=beta).sum()

    (gradient,) = negative_gradient(loss, student)
    assert_gradient(gradient, distillation.jsd(student, teacher, beta, 1), argument=16, addend=40)


@given(seed=seeds, rows=row_numbers, width=widths)
def test_the_clipped_correction_of_sdpo(sdpo, seed, rows, width):
    rng = np.random.default_rng(seed)
    mask, (student, teacher, old) = draw_mask(rng, rows, width), draw_log_p(rng, 3, rows, width)

    def loss(p):
        losses = (p - torch.tensor(teacher)).detach() * p
        return (sdpo.apply_importance_sampling_clipping(losses, p, torch.tensor(old), 1.5) * torch.tensor(mask)).sum()

    (gradient,) = negative_gradient(loss, student)
    assert_gradient(gradient, distillation.sampled_token(student, teacher, old, mask, 1.5), argument=2, addend=4)

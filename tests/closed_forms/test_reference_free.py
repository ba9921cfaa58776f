"""Weights of the experimental pair objectives: known values, limits, and what they have in common with others."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import preference
from closed_forms.reference_free import a2po, alphapo_score, orpo, simpo
from tests.closed_forms.tokens import draw_log_p, seeds

betas = st.sampled_from([0.125, 0.5, 2])


def draw(seed):
    """[p] mean log-probabilities of both sides, multiples of 1/64."""
    return draw_log_p(np.random.default_rng(seed), 2, 4)


@given(seeds, betas)
def test_without_a_target_simpo_is_the_logistic_loss(seed, beta):
    np.testing.assert_array_equal(
        simpo(*draw(seed), beta, 0, 0.25), preference.smoothed_sigmoid(*draw(seed), beta, 0.25)
    )


@given(seeds, betas)
def test_the_target_is_taken_off_the_margin(seed, beta):
    x, y = draw(seed)

    np.testing.assert_array_equal(simpo(x + 0.5 / beta, y, beta, 0.5, 0), preference.sigmoid(x, y, beta))


@pytest.mark.parametrize("gamma", [math.nan, math.inf])
def test_a_target_is_finite(gamma):
    with pytest.raises(ValueError, match=rf"^gamma must be finite, got gamma={gamma}: it is a margin of rewards$"):
        simpo([0], [0], 1, gamma, 0)


def test_simpo_has_a_beta():
    with pytest.raises(ValueError, match=r"^beta must be positive and finite, got beta=0$"):
        simpo([0], [0], 0, 1, 0)


def test_simpo_has_pairs():
    with pytest.raises(ValueError, match=r"^x must hold one number per pair, got \[\]"):
        simpo([], [], 1, 1, 0)


def test_simpo_has_both_sides():
    with pytest.raises(ValueError, match=r"^y must have shape \[2\], got \[1\]"):
        simpo([0, 0], [0], 1, 1, 0)


def test_alphapo_redone_by_hand():
    score, slope = alphapo_score([math.log(1 / 4), 0], 1 / 2)

    np.testing.assert_allclose([score, slope], [[-2, 0], [2, 1]], rtol=1e-15)


@given(seeds)
def test_alphapo_at_zero_is_the_log_probability(seed):
    x, _ = draw(seed)

    np.testing.assert_array_equal(alphapo_score(x, 0), [x, np.ones(4)])


def test_half_precision_does_not_stay():
    x = np.array([-0.1], dtype=np.float16)

    np.testing.assert_array_equal(alphapo_score(x, 0.5), alphapo_score([float(x[0])], 0.5))


def test_orpo_redone_by_hand():
    w_x, w_y = orpo([math.log(3 / 4), math.log(1 / 2)], [math.log(1 / 2), math.log(1 / 2)], 2)

    np.testing.assert_allclose(w_x, [2 / 4 / 2 * 4, 2 / 2 / 2 * 2], rtol=1e-14)
    np.testing.assert_allclose(w_y, [-2 / 4 / 2 * 2, -2 / 2 / 2 * 2], rtol=1e-14)


@given(seeds, betas)
def test_orpo_raises_the_chosen_and_lowers_the_rejected(seed, beta):
    w_x, w_y = orpo(*draw(seed), beta)

    assert (w_x > 0).all()
    assert (w_y < 0).all()


@given(seeds, betas)
def test_unlikely_completions_make_orpo_the_logistic_loss(seed, beta):
    x, y = draw(seed)
    odds = orpo(x - 64, y - 64, beta)

    np.testing.assert_allclose(odds, beta * np.array(preference.sigmoid(x, y, 1)), rtol=1e-14)


@pytest.mark.parametrize(("x", "y"), [([0.0], [-1.0]), ([-1.0], [0.5])])
def test_certain_completions_have_no_odds(x, y):
    with pytest.raises(
        ValueError, match=r"^mean log-probabilities must be below 0, got .*: the odds are infinite at 0$"
    ):
        orpo(x, y, 1)


def test_orpo_has_a_beta():
    with pytest.raises(ValueError, match=r"^beta must be positive and finite, got beta=0$"):
        orpo([-1], [-1], 0)


def test_orpo_has_both_sides():
    with pytest.raises(ValueError, match=r"^y must have shape \[1\], got \[2\]"):
        orpo([-1], [-1, -2], 1)


def test_orpo_has_pairs():
    with pytest.raises(ValueError, match=r"^x must hold one number per pair, got \[\]"):
        orpo([], [], 1)


def test_a2po_redone_by_hand():
    np.testing.assert_array_equal(a2po([2, -1], [1, 3], 0.5), [0, 7 / 4])


@given(seeds, betas)
def test_a2po_stops_where_the_reward_is_met(seed, beta):
    u, _ = draw(seed)

    np.testing.assert_array_equal(a2po(u, beta * u, beta), np.zeros(4))


@given(seeds, betas)
def test_a2po_is_odd(seed, beta):
    u, advantage = draw(seed)

    np.testing.assert_array_equal(a2po(u, advantage, beta), -a2po(-u, -advantage, beta))


def test_a2po_has_a_beta():
    with pytest.raises(ValueError, match=r"^beta must be positive and finite, got beta=0$"):
        a2po([0], [0], 0)


def test_a2po_has_an_advantage_for_each():
    with pytest.raises(ValueError, match=r"^advantage must have shape \[1\], got \[2\]"):
        a2po([0], [0, 1], 1)


def test_a2po_has_completions():
    with pytest.raises(ValueError, match=r"^u must hold one number per pair, got \[\]"):
        a2po([], [], 1)

"""Weights of rewards: known values, what cancels, and what moves nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import preference
from closed_forms.reward import bradley_terry
from tests.closed_forms.tokens import seeds


def draw(seed):
    return np.random.default_rng(seed).integers(-128, 129, (2, 4)) / 64


def test_weights_redone_by_hand():
    w_c, w_r = bradley_terry([math.log(3), 2], [0, 1], [0, 1], 1 / 8)

    centre = [math.log(3) / 8, 3 / 8]
    np.testing.assert_allclose(w_c, [1 / 8 - centre[0], 1 / 4 - centre[1]], rtol=1e-14)
    np.testing.assert_allclose(w_r, [-1 / 8 - centre[0], -1 / 4 - centre[1]], rtol=1e-14)


@given(seeds)
def test_it_is_the_logistic_loss_of_dpo_on_rewards(seed):
    np.testing.assert_allclose(bradley_terry(*draw(seed)), preference.sigmoid(*draw(seed), 1), rtol=1e-15)


@given(seeds, st.integers(-64, 64))
def test_a_margin_is_a_reward_of_the_rejected(seed, n):
    chosen, rejected = draw(seed)

    np.testing.assert_array_equal(bradley_terry(chosen, rejected, n / 32), bradley_terry(chosen, rejected + n / 32))


@given(seeds)
def test_centring_moves_both_sides_alike(seed):
    plain, centred = bradley_terry(*draw(seed)), bradley_terry(*draw(seed), 0, 0.25)

    np.testing.assert_allclose(centred[0] - plain[0], centred[1] - plain[1], atol=1e-15)
    np.testing.assert_allclose(centred[0] + centred[1], -draw(seed).sum(0) / 4, atol=1e-15)


def test_margins_are_finite():
    with pytest.raises(ValueError, match=r"^margin must be finite, got nan"):
        bradley_terry([1], [2], math.nan)


def test_every_pair_has_a_margin():
    with pytest.raises(ValueError, match=r"^margin must have shape \[1\], got \[2\]"):
        bradley_terry([1], [2], [1, 2])


@pytest.mark.parametrize("centre", [-1, math.inf, math.nan])
def test_centring_does_not_push_away(centre):
    with pytest.raises(ValueError, match=rf"^centre must be 0 or more, got centre={centre}$"):
        bradley_terry([1], [2], 0, centre)


def test_there_is_a_pair():
    with pytest.raises(ValueError, match=r"^chosen must hold one number per pair, got \[\]"):
        bradley_terry([], [])


def test_there_are_two_of_each_pair():
    with pytest.raises(ValueError, match=r"^rejected must have shape \[2\], got \[1\]"):
        bradley_terry([1, 2], [1])

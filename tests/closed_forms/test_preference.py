"""Weights of pairs under the DPO family: known values, what cancels, what moves nothing, and limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import preference, preference_sides
from tests.closed_forms.tokens import seeds

MARGIN = {
    "sigmoid": lambda x, y, beta: preference.sigmoid(x, y, beta),
    "smoothed_sigmoid": lambda x, y, beta: preference.smoothed_sigmoid(x, y, beta, 0.25),
    "robust": lambda x, y, beta: preference.robust(x, y, beta, 0.25),
    "hinge": lambda x, y, beta: preference.hinge(x, y, beta),
    "ipo": lambda x, y, beta: preference.ipo(x, y, beta),
    "exo_pair": lambda x, y, beta: preference.exo_pair(x, y, beta, 0.25),
    "discopop": lambda x, y, beta: preference.discopop(x, y, beta, 0.5),
}
SIDES = {
    "nca_pair": lambda x, y, beta: preference_sides.nca_pair(x, y, beta),
    "bco_pair": lambda x, y, beta: preference_sides.bco_pair(x, y, beta),
    "sppo_hard": lambda x, y, beta: preference_sides.sppo_hard(x, y, beta),
    "apo_zero": lambda x, y, beta: preference_sides.apo_zero(x, y, beta),
    "apo_down": lambda x, y, beta: preference_sides.apo_down(x, y, beta),
}
BY_RANK = {
    "aot": lambda x, y, beta: (preference.aot(x, y, beta, 0.25),) * 2,
    "aot_unpaired": lambda x, y, beta: preference.aot_unpaired(x, y, beta, 0.25),
}
ALL = MARGIN | SIDES | BY_RANK

# x = log 3 / beta and y = 0: sigma(beta x) = 3/4, sigma(-beta x) = 1/4; beta = 2, one pair
LOG3 = math.log(3)
KNOWN = {
    "sigmoid": (1 / 2, -1 / 2),
    "smoothed_sigmoid": (2 * (3 / 16 - 3 / 16), 0),
    "robust": (4 * (3 / 16 + 3 / 16), -3 / 2),
    "hinge": (0, 0),
    "ipo": (2 * (1 / 4 - LOG3 / 2), -2 * (1 / 4 - LOG3 / 2)),
    "exo_pair": (0, 0),
    "discopop": (
        2 * (1 / 40 + 3 / 10 - 9 / 50 * (1 / 3 + math.log(3 / 4))),
        -2 * (1 / 40 + 3 / 10 - 9 / 50 * (1 / 3 + math.log(3 / 4))),
    ),
    "nca_pair": (2 * (1 / 4 - 3 / 8), -1 / 2),
    "bco_pair": (1 / 2, -1),
    "sppo_hard": (2 * (1 / 4 - LOG3 / 2), -1 / 2),
    "apo_zero": (3 / 8, -1 / 2),
    "apo_down": (0, -3 / 8),
    "aot": (0, 0),
    "aot_unpaired": (0, 0),
}
# the addends of a weight are below 8 here, with 40 roundings of 1.2e-16 each
ATOL = 4e-14

shifts = st.integers(-64, 64).map(lambda n: n / 32)
betas = st.sampled_from([0.125, 0.5, 2])


def draw_scores(seed, pairs=4):
    """[p] scores of both sides, multiples of 1/64, all different."""
    rng = np.random.default_rng(seed)
    return rng.permutation(np.arange(-128, 128))[: 2 * pairs].reshape(2, pairs) / 64


@pytest.mark.parametrize("name", KNOWN)
def test_weights_of_a_pair_redone_by_hand(name):
    x, y = ALL[name]([LOG3 / 2], [0], 2)

    np.testing.assert_allclose([x, y], np.reshape(KNOWN[name], (2, 1)), atol=ATOL)


@pytest.mark.parametrize(
    ("name", "w_x", "w_y"),
    [
        ("nca_pair", 1 / 2, -3 / 4),
        ("bco_pair", 1, -3 / 2),
        ("sppo_hard", 1 / 2, -2 * (1 / 4 + LOG3 / 2)),
        ("apo_zero", 1 / 2, -3 / 8),
        ("apo_down", -1 / 8, -3 / 8),
    ],
)
def test_a_likely_rejected_side_redone_by_hand(name, w_x, w_y):
    np.testing.assert_allclose(SIDES[name]([0], [LOG3 / 2], 2), [[w_x], [w_y]], atol=ATOL)


@pytest.mark.parametrize("name", ALL)
@given(seed=seeds, beta=betas)
def test_doubling_the_batch_halves_every_weight(name, seed, beta):
    x, y = draw_scores(seed)
    if name in BY_RANK:
        x, y = x[:1], y[:1]
    twice = ALL[name]([*x, *x], [*y, *y], beta)

    half = np.tile(ALL[name](x, y, beta), 2) / 2
    np.testing.assert_allclose(twice, half, rtol=1e-15)


@pytest.mark.parametrize("name", ALL)
@given(seed=seeds, beta=betas)
def test_permuted_pairs_permute_the_weights(name, seed, beta):
    x, y = draw_scores(seed)
    order = np.random.default_rng(seed).permutation(4)

    permuted = ALL[name](x[order], y[order], beta)
    np.testing.assert_array_equal(np.array(ALL[name](x, y, beta))[:, order], permuted)


@pytest.mark.parametrize("name", MARGIN)
@given(seed=seeds, beta=betas)
def test_losses_on_the_margin_move_both_sides_alike(name, seed, beta):
    w_x, w_y = MARGIN[name](*draw_scores(seed), beta)

    np.testing.assert_array_equal(w_x, -w_y)


@pytest.mark.parametrize("name", MARGIN)
@given(seed=seeds, beta=betas, shift=shifts)
def test_only_the_margin_counts(name, seed, beta, shift):
    x, y = draw_scores(seed)

    np.testing.assert_array_equal(MARGIN[name](x, y, beta), MARGIN[name](x + shift, y + shift, beta))


@pytest.mark.parametrize("name", ["bco_pair", "nca_pair", "apo_zero", "sppo_hard"])
@given(seed=seeds, beta=betas, shift=shifts)
def test_losses_on_sides_do_not_look_across(name, seed, beta, shift):
    x, y = draw_scores(seed)

    np.testing.assert_array_equal(SIDES[name](x, y, beta)[0], SIDES[name](x, y + shift, beta)[0])
    np.testing.assert_array_equal(SIDES[name](x, y, beta)[1], SIDES[name](x + shift, y, beta)[1])


@pytest.mark.parametrize("name", ["sigmoid", "hinge", "bco_pair", "apo_zero"])
@given(seed=seeds, beta=betas)
def test_chosen_rise_and_rejected_fall(name, seed, beta):
    w_x, w_y = ALL[name](*draw_scores(seed), beta)

    assert (w_x >= 0).all()
    assert (w_y <= 0).all()


@given(seeds, betas)
def test_apo_down_lowers_both_at_the_start(seed, beta):
    x, y = np.zeros(3), np.zeros(3) + 1
    w_x, w_y = preference_sides.apo_down(x, y, beta)

    assert (w_x < 0).all()
    assert (w_y < 0).all()


@given(seeds, betas)
def test_no_swaps_make_robust_and_smoothed_the_plain_loss(seed, beta):
    x, y = draw_scores(seed)

    np.testing.assert_array_equal(preference.sigmoid(x, y, beta), preference.robust(x, y, beta, 0))
    np.testing.assert_array_equal(preference.sigmoid(x, y, beta), preference.smoothed_sigmoid(x, y, beta, 0))


@given(betas)
def test_a_pair_at_zero_weighs_half_of_beta(beta):
    np.testing.assert_array_equal(preference.sigmoid([0], [0], beta), [[beta / 2], [-beta / 2]])


@given(betas)
def test_half_swapped_says_nothing_at_zero(beta):
    np.testing.assert_array_equal(preference.smoothed_sigmoid([0], [0], beta, 0.5), [[0], [0]])


def test_hinge_stops_at_its_goal():
    w_x, _ = preference.hinge([0.49, 0.5, 0.51], [0, 0, 0], 2)

    np.testing.assert_array_equal(w_x, [2 / 3, 0, 0])


@given(seeds, betas)
def test_ipo_pushes_back_past_its_goal(seed, beta):
    goal = 1 / (2 * beta)
    w_x, _ = preference.ipo([goal - 1, goal, goal + 1], [0, 0, 0], beta)

    np.testing.assert_array_equal(w_x, [2 / 3, 0, -2 / 3])


@given(seeds, betas)
def test_one_pair_makes_aot_the_plain_loss(seed, beta):
    x, y = draw_scores(seed, pairs=1)

    np.testing.assert_array_equal(preference.smoothed_sigmoid(x, y, beta, 0.25)[0], preference.aot(x, y, beta, 0.25))
    np.testing.assert_array_equal(
        preference.smoothed_sigmoid(x, y, beta, 0.25), preference.aot_unpaired(x, y, beta, 0.25)
    )


@given(seeds, betas)
def test_aot_does_not_mind_which_pair_a_reference_is_of(seed, beta):
    policy, reference = draw_scores(seed)

    np.testing.assert_array_equal(
        preference.aot(policy, reference, beta, 0.25), preference.aot(policy, reference[::-1], beta, 0.25)
    )


def test_aot_meets_by_rank():
    weights = preference.aot([3, 1], [2, 5], 1, 0)

    sigma = [1 / (1 + math.exp(-2)), 1 / (1 + math.exp(-1))]
    np.testing.assert_allclose(weights, [sigma[0] / 2, sigma[1] / 2], rtol=1e-14)


def test_unpaired_aot_meets_by_rank():
    w_x, w_y = preference.aot_unpaired([3, 1], [2, 5], 1, 0)

    sigma = [1 / (1 + math.exp(-2)), 1 / (1 + math.exp(-1))]
    np.testing.assert_allclose(w_x, [sigma[0] / 2, sigma[1] / 2], rtol=1e-14)
    np.testing.assert_allclose(w_y, [-sigma[1] / 2, -sigma[0] / 2], rtol=1e-14)


@given(seeds)
def test_unpaired_aot_cancels_over_the_batch(seed):
    w_x, w_y = preference.aot_unpaired(*draw_scores(seed), 1, 0.25)

    assert w_x.sum() + w_y.sum() == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("name", ALL)
def test_a_batch_without_pairs_is_refused(name):
    with pytest.raises(ValueError, match=r"^(x|policy) must hold one number per pair, got \[\]"):
        ALL[name]([], [], 1)


@pytest.mark.parametrize("name", ALL)
def test_the_other_side_has_as_many(name):
    with pytest.raises(ValueError, match=r"^(y|reference) must have shape \[1\], got \[2\]"):
        ALL[name]([1], [1, 2], 1)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("beta", [0, -1, math.nan])
def test_beta_is_positive(name, beta):
    with pytest.raises(ValueError, match=rf"^beta must be positive and finite, got beta={beta}$"):
        ALL[name]([1], [2], beta)


@pytest.mark.parametrize("epsilon", [-0.1, 0.6])
def test_at_most_half_of_the_pairs_are_swapped(epsilon):
    with pytest.raises(ValueError, match=rf"^epsilon must be one of 0 to 0.5, got epsilon={epsilon}$"):
        preference.smoothed_sigmoid([1], [2], 1, epsilon)


@pytest.mark.parametrize("epsilon", [-0.1, 0.5, 0.6])
def test_robust_needs_less_than_half(epsilon):
    rule = rf"^epsilon must be at least 0 and below 1/2, got epsilon={epsilon}: half swapped says nothing$"

    with pytest.raises(ValueError, match=rule):
        preference.robust([1], [2], 1, epsilon)


@pytest.mark.parametrize("epsilon", [-0.1, 0, 0.6])
def test_exo_needs_some_swaps(epsilon):
    rule = rf"^epsilon must be above 0 and at most 1/2, got epsilon={epsilon}: exo_pair is infinite at 0$"

    with pytest.raises(ValueError, match=rule):
        preference.exo_pair([1], [2], 1, epsilon)


def test_exo_with_half_of_the_pairs_swapped_levels_the_pair():
    w_x, _ = preference.exo_pair([0, 1, -1], [0, 0, 0], 1, 0.5)

    np.testing.assert_array_equal(np.sign(w_x), [0, -1, 1])


def test_the_blend_needs_a_temperature():
    with pytest.raises(ValueError, match=r"^tau must be positive and finite, got tau=0$"):
        preference.discopop([1], [2], 1, 0)

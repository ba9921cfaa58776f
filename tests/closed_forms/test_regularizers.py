"""Pushes on logits by what is added to a loss: known values, sum rules and limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms._logistic import log_sigma, log_softmax, sigma, softmax
from closed_forms.regularizers import (
    adaptive_coefficients,
    entropy_bonus,
    expert_balance,
    smoothed_cross_entropy,
    z_loss,
)
from tests.closed_forms.tokens import seeds

HALF = [[math.log(3), 0.0]]  # probabilities 3/4 and 1/4
# a row of at most 8 words and 20 roundings of 1.2e-16 each, on logits up to 4
ATOL = 1e-13


def draw_logits(seed, rows=3, vocab=5):
    return np.random.default_rng(seed).integers(-64, 65, (rows, vocab)) / 16


def test_sigma_of_extremes_does_not_overflow():
    assert sigma([-1000, 0, 1000]).tolist() == [0, 1 / 2, 1]


def test_log_sigma_of_extremes_does_not_overflow():
    np.testing.assert_allclose(log_sigma([-1000, 0, 1000]), [-1000, -math.log(2), 0], rtol=1e-15)


def test_half_precision_does_not_stay():
    x = np.array([0.1], dtype=np.float16)

    np.testing.assert_array_equal(log_sigma(x), log_sigma([float(x[0])]))


@given(st.floats(-30, 30))
def test_sigma_and_its_mirror_sum_to_one(x):
    assert sigma(x) + sigma(-x) == pytest.approx(1, rel=1e-14)


def test_softmax_gives_known_probabilities():
    np.testing.assert_allclose(softmax(np.array(HALF) + 1000), [[3 / 4, 1 / 4]], rtol=1e-12)


def test_log_softmax_is_taken_row_by_row():
    logits = np.array([[0.0, 0.0], [5.0, 5.0]])

    np.testing.assert_allclose(log_softmax(logits), np.full((2, 2), -math.log(2)), rtol=1e-15)


def test_smoothing_spreads_over_all_words():
    push = smoothed_cross_entropy(HALF, [1], 1 / 2)

    np.testing.assert_allclose(push, [[1 / 4 - 3 / 4, 3 / 4 - 1 / 4]], atol=ATOL)


@given(seeds, st.sampled_from([0, 0.1, 1]))
def test_smoothed_pushes_cancel_over_the_vocabulary(seed, epsilon):
    push = smoothed_cross_entropy(draw_logits(seed), [0, 4, 2], epsilon)

    np.testing.assert_allclose(push.sum(1), 0, atol=ATOL)


@given(seeds)
def test_without_smoothing_it_is_the_cross_entropy(seed):
    logits = draw_logits(seed)

    np.testing.assert_allclose(
        smoothed_cross_entropy(logits, [0, 4, 2], 0), np.eye(5)[[0, 4, 2]] - softmax(logits), atol=ATOL
    )


@pytest.mark.parametrize("targets", [[5, 0, 0], [-1, 0, 0], [0.5, 0, 0]])
def test_targets_must_be_words(targets):
    with pytest.raises(ValueError, match=r"^targets must be one of 0 to 4, got \[.*\]: leave out what is no target$"):
        smoothed_cross_entropy(draw_logits(0), targets, 0)


def test_every_row_has_a_target():
    with pytest.raises(ValueError, match=r"^targets must have shape \[3\], got \[2\]"):
        smoothed_cross_entropy(draw_logits(0), [0, 0], 0)


@pytest.mark.parametrize("epsilon", [-0.1, 1.1])
def test_smoothing_is_a_share(epsilon):
    with pytest.raises(ValueError, match=f"^epsilon must be one of 0 to 1, got epsilon={epsilon}$"):
        smoothed_cross_entropy(HALF, [1], epsilon)


def test_z_loss_pulls_by_the_log_partition():
    log_z = math.log(4)

    np.testing.assert_allclose(z_loss(HALF, 1 / 10), [[-3 / 20 * log_z, -1 / 20 * log_z]], atol=ATOL)


@given(seeds)
def test_z_loss_vanishes_on_normalised_logits(seed):
    np.testing.assert_allclose(z_loss(log_softmax(draw_logits(seed)), 1), 0, atol=ATOL)


def test_entropy_bonus_levels_a_row():
    entropy = math.log(4) - 3 / 4 * math.log(3)
    push = [[-3 / 2 * (math.log(3 / 4) + entropy), -1 / 2 * (math.log(1 / 4) + entropy)]]

    np.testing.assert_allclose(entropy_bonus(HALF, 2), push, atol=ATOL)


@given(seeds)
def test_entropy_bonus_cancels_over_the_vocabulary(seed):
    np.testing.assert_allclose(entropy_bonus(draw_logits(seed), 3).sum(1), 0, atol=ATOL)


@given(st.integers(1, 8))
def test_a_uniform_row_has_all_the_entropy(vocab):
    np.testing.assert_allclose(entropy_bonus(np.ones((2, vocab)), 1), 0, atol=ATOL)


def test_a_busy_expert_is_pushed_down():
    push = expert_balance([[math.log(3), 0.0], [math.log(3), 0.0]], 1, 1 / 2)

    np.testing.assert_allclose(push, [[-3 / 32, 3 / 32], [-3 / 32, 3 / 32]], atol=ATOL)


def test_equally_used_experts_are_left_alone():
    np.testing.assert_allclose(expert_balance([[1.0, 0.0], [0.0, 1.0]], 1, 1), 0, atol=ATOL)


@given(seeds)
def test_using_all_experts_balances_them(seed):
    np.testing.assert_allclose(expert_balance(draw_logits(seed), 5, 1), 0, atol=ATOL)


@given(seeds, st.integers(1, 5))
def test_balance_cancels_over_the_experts(seed, chosen):
    np.testing.assert_allclose(expert_balance(draw_logits(seed), chosen, 1).sum(1), 0, atol=ATOL)


@pytest.mark.parametrize("chosen", [0, 6])
def test_experts_per_token_must_exist(chosen):
    with pytest.raises(ValueError, match=rf"^chosen={chosen} must be one of 1 to 5, the experts of the router$"):
        expert_balance(draw_logits(0), chosen, 1)


FORMS = {
    "smoothed_cross_entropy": lambda logits, c: smoothed_cross_entropy(logits, [0], c),
    "z_loss": lambda logits, c: z_loss(logits, c),
    "entropy_bonus": lambda logits, c: entropy_bonus(logits, c),
    "expert_balance": lambda logits, c: expert_balance(logits, 1, c),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("logits", [[1.0, 2.0], [], np.zeros((0, 2)), np.zeros((1, 0)), np.zeros((1, 1, 1))], ids=str)
def test_logits_are_rows(name, logits):
    with pytest.raises(
        ValueError, match=r"^logits must be rows of numbers, got shape \[.*\]: give \[position, word\]$"
    ):
        FORMS[name](logits, 0.5)


@pytest.mark.parametrize("name", FORMS)
def test_logits_are_finite(name):
    with pytest.raises(ValueError, match=r"^logits must be finite, got nan"):
        FORMS[name]([[1.0, math.nan]], 0.5)


@pytest.mark.parametrize("name", [name for name in FORMS if name != "smoothed_cross_entropy"])
def test_coefficients_are_positive(name):
    with pytest.raises(ValueError, match=r"^coefficient must be positive and finite, got coefficient=0$"):
        FORMS[name](HALF, 0)


def test_the_coefficient_rises_while_the_entropy_is_low_and_is_applied_one_step_later():
    # start 0.5, target 2: at it counts as low; a high step turns the bonus off in the next one
    found = adaptive_coefficients([2.0, 1.0, 3.0, 1.0, 1.0], 0.5, 2.0, 0.25, high=0.9)
    np.testing.assert_array_equal(found, [0, 0.75, 0.9, 0, 0.9])


def test_the_coefficient_falls_to_its_lower_bound_and_waits_there():
    found = adaptive_coefficients([9.0, 9.0, 9.0, 1.0, 1.0], 0.5, 2.0, 0.25, low=0.125)
    np.testing.assert_array_equal(found, [0, 0, 0, 0, 0.375])


def test_an_entropy_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="entropy"):
        adaptive_coefficients([1.0, np.nan], 0.5, 2.0, 0.25)

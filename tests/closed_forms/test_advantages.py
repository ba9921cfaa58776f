"""Advantages of groups small enough to redo by hand, what they sum to, and what they do not depend on."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.advantages import leave_one_out, normalize_then_sum, optimal_value, shaped_reward, sum_then_normalize
from tests.closed_forms.tokens import seeds

NAN = math.nan
FORMS = {
    "group": lambda r, w, g: sum_then_normalize(r, w, g, "group"),
    "batch": lambda r, w, g: sum_then_normalize(r, w, g, "batch"),
    "none": lambda r, w, g: sum_then_normalize(r, w, g, "none"),
    "normalize_then_sum": lambda r, w, g: normalize_then_sum(r, w, g),
    "leave_one_out": lambda r, w, g: leave_one_out(r, w, g),
    "normalized": lambda r, w, g: leave_one_out(r, w, g, normalize=True),
}
every_form = pytest.mark.parametrize("name", FORMS)
sizes = st.integers(2, 5)
# 30 roundings of numbers below 2^7, divided by 10^-4 where all rewards are alike
ATOL = 30 * 2**7 * 2**-53 / 1e-4


def column(*rewards):
    return [[reward] for reward in rewards]


def draw_rewards(seed, size, groups=3):
    return np.random.default_rng(seed).integers(-8, 9, (groups * size, 2)) / 4


def test_group_scaling_divides_by_the_groups_deviation():
    sd = math.sqrt(2) / 2

    advantages = sum_then_normalize(column(0, 1, 0, 3), [2], 2, "group")
    expected = [-1 / (2 * sd + 1e-4), 1 / (2 * sd + 1e-4), -3 / (6 * sd + 1e-4), 3 / (6 * sd + 1e-4)]
    np.testing.assert_allclose(advantages, expected, rtol=1e-14)


def test_batch_scaling_divides_by_the_deviation_of_all():
    sd = math.sqrt(6 / 3)

    advantages = sum_then_normalize(column(0, 1, 0, 3), [1], 2, "batch")
    expected = np.array([-1 / 2, 1 / 2, -3 / 2, 3 / 2]) / (sd + 1e-4)
    np.testing.assert_allclose(advantages, expected, rtol=1e-14)


def test_no_scaling_divides_by_nothing():
    np.testing.assert_array_equal(
        sum_then_normalize(column(0, 1, 0, 3), [1], 2, "none"), [-1 / 2, 1 / 2, -3 / 2, 3 / 2]
    )


def test_one_right_answer_of_eight_is_blown_up():
    advantages = sum_then_normalize(column(1, *[0] * 7), [1], 8, "group")

    assert advantages[0] == pytest.approx(7 / 8 / (math.sqrt(1 / 8) + 1e-4), rel=1e-14)


def test_rewards_are_weighted_and_added():
    rewards = [[1, 10], [2, 20]]

    np.testing.assert_array_equal(
        sum_then_normalize(rewards, [1, 1 / 2], 2, "none"), sum_then_normalize(column(6, 12), [1], 2, "none")
    )


def test_rewards_of_any_size_count_alike_when_normalized_first():
    rewards = [[0, 0], [1, 0], [0, 0], [0, 1000]]
    advantages = normalize_then_sum(rewards, [1, 1], 2)

    sd = math.sqrt(2) / 2
    small, large = 1 / 2 / (sd + 1e-4), 500 / (1000 * sd + 1e-4)
    total = np.array([-small, small, -large, large])
    np.testing.assert_allclose(advantages, total / (math.sqrt((total**2).sum() / 3) + 1e-4), rtol=1e-13)


def test_leave_one_out_compares_with_the_siblings():
    np.testing.assert_array_equal(leave_one_out(column(1, 2, 6), [1], 3), [-3, -3 / 2, 9 / 2])


def test_normalized_leave_one_out_divides_by_the_deviation_of_all():
    expected = np.array([-1, 1, -3, 3]) / (math.sqrt(20 / 3) + 1e-4)

    np.testing.assert_allclose(leave_one_out(column(0, 1, 0, 3), [1], 2, normalize=True), expected, rtol=1e-14)


def test_missing_rewards_leave_the_baseline():
    np.testing.assert_array_equal(leave_one_out(column(1, NAN, 6), [1], 3), [-5, 0, 5])
    np.testing.assert_array_equal(sum_then_normalize(column(1, NAN, 6), [1], 3, "none"), [-5 / 2, 0, 5 / 2])


def test_missing_rewards_leave_the_deviation():
    expected = np.array([-1, 1, 0]) / (math.sqrt(2) + 1e-4)

    np.testing.assert_allclose(sum_then_normalize(column(1, 3, NAN), [1], 3, "group"), expected, rtol=1e-14)


def test_one_function_may_score_what_another_does_not():
    rewards = [[1, NAN], [NAN, 4]]

    np.testing.assert_array_equal(sum_then_normalize(rewards, [1, 1], 2, "none"), [-3 / 2, 3 / 2])


def test_a_reward_alone_in_its_group_counts_as_zero():
    rewards = [[1, NAN], [3, 4]]
    advantages = normalize_then_sum(rewards, [1, 1], 2)

    np.testing.assert_allclose(advantages, normalize_then_sum(column(1, 3), [1], 2), rtol=1e-14)


@pytest.mark.parametrize("name", ["group", "batch", "none", "leave_one_out"])
@given(seed=seeds, size=sizes)
def test_advantages_sum_to_zero_in_each_group(name, seed, size):
    advantages = FORMS[name](draw_rewards(seed, size), [1, 2], size).reshape(-1, size)

    np.testing.assert_allclose(advantages.sum(1), 0, atol=ATOL)


@pytest.mark.parametrize("name", ["normalize_then_sum", "normalized"])
@given(seed=seeds, size=sizes)
def test_advantages_sum_to_zero_over_the_batch(name, seed, size):
    advantages = FORMS[name](draw_rewards(seed, size), [1, 2], size)

    np.testing.assert_allclose(advantages.sum(), 0, atol=ATOL)


@every_form
@given(seed=seeds, size=sizes, shift=st.integers(-8, 8))
def test_a_constant_reward_changes_nothing(name, seed, size, shift):
    rewards = draw_rewards(seed, size)

    np.testing.assert_allclose(
        FORMS[name](rewards, [1, 2], size), FORMS[name](rewards + shift, [1, 2], size), atol=ATOL
    )


@every_form
@given(size=sizes)
def test_equal_rewards_teach_nothing(name, size):
    np.testing.assert_array_equal(FORMS[name](np.ones((2 * size, 1)), [1], size), np.zeros(2 * size))


@every_form
@given(size=sizes)
def test_completions_without_rewards_teach_nothing(name, size):
    np.testing.assert_array_equal(FORMS[name](np.full((size, 2), NAN), [1, 1], size), np.zeros(size))


@pytest.mark.parametrize("name", ["group", "none", "leave_one_out"])
@given(seed=seeds, size=sizes)
def test_groups_do_not_see_each_other(name, seed, size):
    rewards = draw_rewards(seed, size)
    alone = FORMS[name](rewards[:size], [1, 2], size)

    np.testing.assert_array_equal(alone, FORMS[name](rewards, [1, 2], size)[:size])


@given(seeds, sizes)
def test_leaving_one_out_stretches_the_advantages(seed, size):
    rewards = draw_rewards(seed, size)
    centred = sum_then_normalize(rewards, [1, 2], size, "none")

    np.testing.assert_allclose(leave_one_out(rewards, [1, 2], size), size / (size - 1) * centred, atol=ATOL)


@every_form
@pytest.mark.parametrize("rewards", [[1, 2], [], np.zeros((0, 1)), np.zeros((2, 0))], ids=str)
def test_rewards_are_rows(name, rewards):
    with pytest.raises(
        ValueError, match=r"^rewards need one row per completion, got .*: one number per reward function"
    ):
        FORMS[name](rewards, [1], 2)


@every_form
def test_infinite_rewards_are_refused(name):
    with pytest.raises(ValueError, match=r"^rewards must be finite, or NaN where there is none, got .*: clip them$"):
        FORMS[name](column(1, math.inf), [1], 2)


@every_form
def test_every_reward_function_has_a_weight(name):
    with pytest.raises(ValueError, match=r"^weights must have shape \[1\], got \[2\]"):
        FORMS[name](column(1, 2), [1, 1], 2)


@every_form
@pytest.mark.parametrize("group", [0, 1, 3])
def test_completions_are_whole_groups(name, group):
    rule = rf"^completions come in groups of at least 2, got 4 of them and group={group}$"

    with pytest.raises(ValueError, match=rule):
        FORMS[name](column(1, 2, 3, 4), [1], group)


def test_unknown_scales_are_refused():
    with pytest.raises(ValueError, match=r"^no scale='std': give one of group, batch, none$"):
        sum_then_normalize(column(1, 2), [1], 2, "std")


def test_rewards_are_clipped_before_the_penalty():
    np.testing.assert_array_equal(shaped_reward([-3, 0.5, 3, NAN], -1, 1, 0.5, [2, 2, 2, 2]), [-2, -0.5, 0, NAN])


def test_the_penalty_must_be_known():
    with pytest.raises(ValueError, match=r"^divergence must be finite, got nan"):
        shaped_reward([1], -1, 1, 0.5, [NAN])


def test_every_reward_has_a_penalty():
    with pytest.raises(ValueError, match=r"^reward must have shape \[2\], got \[1\]"):
        shaped_reward([1], -1, 1, 0.5, [1, 2])


def test_the_optimal_value_weighs_rewards_by_their_exponentials():
    values = optimal_value([[math.log(3), 0.0], [2.0, 2.0]], 1)

    np.testing.assert_allclose(values, [math.log(2), 2], rtol=1e-15)


@given(seeds, st.sampled_from([2.0**-8, 0.5, 64.0]))
def test_the_optimal_value_lies_between_mean_and_largest(seed, beta):
    rewards = np.random.default_rng(seed).integers(-8, 9, (3, 4)) / 8

    values = optimal_value(rewards, beta)
    assert np.all(values <= rewards.max(1) + 1e-12)
    assert np.all(values >= rewards.mean(1) - 1e-12)


@pytest.mark.parametrize("rewards", [[1.0], [[]], np.zeros((0, 2))], ids=str)
def test_samples_stand_in_rows(rewards):
    with pytest.raises(
        ValueError, match=r"^rewards must be rows of samples, got shape \[.*\]: give \[prompt, sample\]$"
    ):
        optimal_value(rewards, 1)


def test_the_temperature_of_a_value_is_positive():
    with pytest.raises(ValueError, match=r"^beta must be positive"):
        optimal_value([[1.0]], 0)

"""Factors of the policy objectives: known values, where they clip, and their limits on-policy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import kl, policy
from tests.closed_forms.tokens import draw_advantages, draw_mask, row_numbers, seeds, widths

LOG2 = math.log(2)
FACTORS = {
    "clipped": lambda q, a: policy.clipped(q, a, 0.2, 0.3),
    "two-sided": lambda q, a: policy.clipped(q, a, 0.2, 0.3, 1.5),
    "cispo": lambda q, a: policy.cispo(q, a, 5),
    "sapo": lambda q, a: policy.sapo(q, a, 1.0, 1.05),
    "vespo": lambda q, a: policy.vespo(q, a, (2, 3), (3, 2)),
}
every_factor = pytest.mark.parametrize("name", FACTORS)


@every_factor
@given(seed=seeds, rows=row_numbers)
def test_an_unmoved_policy_is_pulled_by_the_advantage(name, seed, rows):
    a = draw_advantages(np.random.default_rng(seed), rows)

    np.testing.assert_allclose(FACTORS[name](np.zeros(rows), a), a, rtol=1e-15)


@every_factor
def test_half_precision_does_not_stay(name):
    q, a = np.array([0.1], dtype=np.float16), np.array([1.1], dtype=np.float16)

    np.testing.assert_array_equal(FACTORS[name](q, a), FACTORS[name]([float(q[0])], [float(a[0])]))


def test_half_precision_does_not_stay_in_the_penalty():
    u, q = np.array([0.1], dtype=np.float16), np.array([0.2], dtype=np.float16)

    np.testing.assert_array_equal(kl.plain(u, 1), kl.plain([float(u[0])], 1))
    np.testing.assert_array_equal(kl.corrected(u, q, 1), kl.corrected([float(u[0])], [float(q[0])], 1))


@every_factor
def test_no_advantage_no_pull(name):
    np.testing.assert_array_equal(FACTORS[name]([0.0, 1.0, -1.0], [0.0, 0.0, 0.0]), [0, 0, 0])


@every_factor
@given(seed=seeds, rows=row_numbers, q=st.integers(-64, 64))
def test_a_pull_never_turns_round(name, seed, rows, q):
    a = draw_advantages(np.random.default_rng(seed), rows)

    assert (FACTORS[name](np.full(rows, q / 32), a) * a >= 0).all()


@every_factor
@pytest.mark.parametrize(("q", "a"), [([math.nan], [1.0]), ([0.0], [math.inf])], ids=str)
def test_what_is_not_finite_is_refused(name, q, a):
    with pytest.raises(ValueError, match=r"^log-ratios and advantages must be finite, got .*: mask such tokens$"):
        FACTORS[name](q, a)


def ratios(*rho):
    return np.log(rho)


def test_rising_tokens_are_clipped_above():
    np.testing.assert_allclose(
        policy.clipped(ratios(0.1, 1.29, 1.31, 9), [2.0] * 4, 0.2, 0.3), [0.2, 2.58, 0, 0], rtol=1e-14
    )


def test_falling_tokens_are_clipped_below():
    np.testing.assert_allclose(
        policy.clipped(ratios(0.1, 0.79, 0.81, 9), [-2.0] * 4, 0.2, 0.3), [0, 0, -1.62, -18], rtol=1e-14
    )


def test_delta_clips_falling_tokens_above():
    np.testing.assert_allclose(
        policy.clipped(ratios(0.79, 1.31, 1.49, 1.51), [-2.0] * 4, 0.2, 0.3, 1.5), [0, -2.62, -2.98, 0], rtol=1e-14
    )


def test_a_delta_below_the_clip_stops_rising_tokens_only():
    q = ratios(1.09, 1.11, 1.29, 1.31)

    np.testing.assert_allclose(policy.clipped(q, [1.0] * 4, 0.2, 0.3, 1.1), [1.09, 0, 0, 0], rtol=1e-14)
    np.testing.assert_allclose(policy.clipped(q, [-1.0] * 4, 0.2, 0.3, 1.1), [-1.09, -1.11, -1.29, 0], rtol=1e-14)


def test_the_ends_of_the_clip_belong_to_it():
    up, down = np.log1p(0.5), np.log(0.5)

    assert policy.clipped(up, 1.0, 0.5, np.expm1(up)) == np.exp(up)
    assert policy.clipped(down, -1.0, 0.5, 0.5) == -np.exp(down)
    assert policy.clipped(up, -1.0, 0.5, 0.25, np.exp(up)) == -np.exp(up)


@pytest.mark.parametrize("name", ["low", "high"])
@pytest.mark.parametrize("value", [0, -0.1])
def test_clips_are_positive(name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be positive and finite, got {name}={value}$"):
        policy.clipped([0.0], [1.0], **{"low": 0.2, "high": 0.3, name: value})


@pytest.mark.parametrize("delta", [0, -1, math.nan])
def test_delta_is_positive(delta):
    with pytest.raises(
        ValueError, match=rf"^delta must be positive, got delta={delta}: TRL's advice is more than 1 \+ "
    ):
        policy.clipped([0.0], [1.0], 0.2, 0.3, delta)


def test_a_small_delta_is_allowed():
    assert policy.clipped(ratios(0.4), [1.0], 0.2, 0.3, 0.5) == pytest.approx(0.4)


def test_cispo_caps_the_ratio_whatever_the_sign():
    np.testing.assert_allclose(
        policy.cispo(ratios(0.1, 4.9, 9, 9), [2.0, 2, 2, -2], 5), [0.2, 9.8, 10, -10], rtol=1e-14
    )


def test_a_cap_of_a_fifth_shrinks_every_token_on_policy():
    assert policy.cispo(0.0, 3.0, 0.2) == pytest.approx(3 / 5, rel=1e-15)


def test_the_cap_is_positive():
    with pytest.raises(ValueError, match=r"^cap must be positive and finite, got cap=0$"):
        policy.cispo([0.0], [1.0], 0)


def test_the_soft_gate_has_a_temperature_for_each_sign():
    gates = [4 / (1 + math.exp(-tau)) / (1 + math.exp(tau)) for tau in (1, 3)]

    np.testing.assert_allclose(policy.sapo([LOG2] * 2, [5.0, -5.0], 1, 3), [10 * gates[0], -10 * gates[1]], rtol=1e-14)


@pytest.mark.parametrize("name", ["rising", "falling"])
def test_temperatures_are_positive(name):
    with pytest.raises(ValueError, match=rf"^{name} must be positive and finite, got {name}=0$"):
        policy.sapo([0.0], [1.0], **{"rising": 1, "falling": 1, name: 0})


def test_the_gamma_weight_has_a_shape_for_each_sign():
    factors = policy.vespo([LOG2] * 2, [1.0, -1.0], (2, 3), (3, 2))

    np.testing.assert_allclose(factors, [4 * math.exp(-3), -8 * math.exp(-2)], rtol=1e-13)


def test_the_gamma_weight_is_held_at_both_ends():
    low, held = policy.vespo([-100.0, math.log(1e-8)], [1.0, 1.0], (2, 3), (3, 2))
    high, top = policy.vespo([21.0, 20.0], [1.0, 1.0], (1, 1e-9), (3, 2))

    assert low == held == pytest.approx(1e-16 * math.exp(3), rel=1e-12)
    assert high == top == pytest.approx(math.exp(20 + 1e-9 * (1 - math.exp(20))), rel=1e-12)


def test_the_gamma_weight_sums_over_scored_tokens():
    weights = policy.vespo_log_weight([[1.0, -30.0, math.nan], [50.0, 0, 2]], [[1, 1, 0], [1, 0, 1]])

    np.testing.assert_array_equal(weights, [-19, 22])


def test_the_sampler_enters_the_gamma_weight():
    q, mask = np.zeros((2, 2)), np.ones((2, 2))

    np.testing.assert_allclose(policy.vespo_log_weight(q, mask, [[2, 0], [1, 4]]), [LOG2 - 8 * math.log(10), 2 * LOG2])
    np.testing.assert_allclose(policy.vespo_log_weight(q, mask, [[2], [1]]), [LOG2, 0])
    np.testing.assert_allclose(policy.vespo_log_weight(q, mask, [[1e10], [1]]), [20, 0], rtol=1e-15)


def test_the_gamma_weight_needs_log_ratios():
    with pytest.raises(ValueError, match=r"^q must have shape \[1, 1\], got \[1, 2\]"):
        policy.vespo_log_weight([[1, 2]], [[1]])


def test_sequence_ratios_are_means_over_scored_tokens():
    mean = policy.mean_log_ratio([[1.0, math.nan, 2.0], [math.nan] * 3], [[1, 0, 1], [0, 0, 0]])

    np.testing.assert_array_equal(mean, [3 / 2, 0])


def test_sequence_ratios_need_log_ratios():
    with pytest.raises(ValueError, match=r"^q must be finite where the mask scores, got nan"):
        policy.mean_log_ratio([[math.nan]], [[1]])


@pytest.mark.parametrize(
    ("accumulation", "steps", "iterations", "current"),
    [(4, 4, 1, True), (4, 2, 1, True), (4, 2, 2, True), (4, 4, 2, False), (2, 4, 1, False), (6, 4, 1, False)],
)
def test_the_old_policy_is_current_where_generation_divides_accumulation(accumulation, steps, iterations, current):
    assert policy.old_policy_is_current(accumulation, steps, iterations) is current


@pytest.mark.parametrize("counts", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_counts_of_steps_start_at_one(counts):
    rule = rf"^K, S and I must be at least 1, got {counts[0]}, {counts[1]} and {counts[2]}: count them$"

    with pytest.raises(ValueError, match=rule):
        policy.old_policy_is_current(*counts)


def test_the_penalty_pulls_back_to_the_reference():
    np.testing.assert_allclose(kl.plain([LOG2, 0.0, -LOG2], 3), [-3 / 2, 0, 3], rtol=1e-15)


def test_the_corrected_penalty_pulls_by_the_log_ratio():
    np.testing.assert_allclose(kl.corrected([2.0, -1.0, 0.0], [LOG2, 0.0, 5.0], 3), [-12, 3, 0], rtol=1e-15)


def test_the_penalty_of_a_sequence_moves_its_other_tokens():
    factors = kl.corrected_by_sequence([[LOG2, 0.0, 9.0]], [[LOG2, LOG2, 9.0]], [[1, 1, 0]], 3)

    mean_k = (1 / 2 + LOG2 - 1) / 2
    np.testing.assert_allclose(factors, [[-6 * (1 / 2 + mean_k), -6 * mean_k, 0]], rtol=1e-14)


@given(seeds, row_numbers)
def test_a_sequence_of_one_token_is_a_token(seed, rows):
    rng = np.random.default_rng(seed)
    u, q = rng.integers(-64, 65, (2, rows, 1)) / 32

    np.testing.assert_allclose(
        kl.corrected_by_sequence(u, q, np.ones((rows, 1)), 2), kl.corrected(u, q, 2), rtol=0, atol=1e-13
    )


@given(seeds, row_numbers, widths)
def test_the_reference_itself_is_not_penalised(seed, rows, width):
    rng = np.random.default_rng(seed)
    mask, q = draw_mask(rng, rows, width), rng.integers(-64, 65, (rows, width)) / 32

    np.testing.assert_array_equal(kl.corrected_by_sequence(0 * q, q, mask, 2), 0 * q)


def test_a_row_without_tokens_is_not_penalised():
    np.testing.assert_array_equal(kl.corrected_by_sequence([[1.0]], [[1.0]], [[0]], 2), [[0]])


@pytest.mark.parametrize(
    "form",
    [
        lambda beta: kl.plain([0.0], beta),
        lambda beta: kl.corrected([0.0], [0.0], beta),
        lambda beta: kl.corrected_by_sequence([[0.0]], [[0.0]], [[1]], beta),
    ],
)
def test_the_penalty_has_a_positive_weight(form):
    with pytest.raises(ValueError, match=r"^beta must be positive and finite, got beta=0$"):
        form(0)


@pytest.mark.parametrize(("u", "q", "name"), [([[math.nan]], [[0.0]], "u"), ([[0.0]], [[math.nan]], "q")])
def test_scored_log_ratios_of_the_penalty_are_finite(u, q, name):
    with pytest.raises(ValueError, match=rf"^{name} must be finite where the mask scores, got nan"):
        kl.corrected_by_sequence(u, q, [[1]], 1)


def test_the_geometric_mean_is_taken_of_clipped_ratios():
    q = [[0.25, 1.0, -2.0, math.nan]] * 2
    factors = policy.geometric(q, [6.0, -6.0], [[1, 1, 1, 0]] * 2, 0.5, 0.75)

    up, down = math.exp((0.25 + 0.75 - 2) / 3), math.exp((0.25 + 1 - 0.5) / 3)
    np.testing.assert_allclose(factors, [[2 * up, 0, 2 * up, 0], [-2 * down, -2 * down, 0, 0]], rtol=1e-15)


@given(seeds, row_numbers, widths)
def test_an_unmoved_policy_shares_the_advantage_among_its_tokens(seed, rows, width):
    rng = np.random.default_rng(seed)
    mask, a = draw_mask(rng, rows, width), draw_advantages(rng, rows)

    shares = policy.geometric(np.zeros((rows, width)), a, mask, 0.4, 0.4)
    np.testing.assert_allclose(shares, mask * (a / mask.sum(1))[:, None], rtol=1e-15)


def test_a_row_without_tokens_has_no_geometric_mean():
    np.testing.assert_array_equal(policy.geometric([[1.0]], [1.0], [[0]], 0.4, 0.4), [[0]])


@pytest.mark.parametrize("name", ["low", "high"])
def test_geometric_bounds_are_positive(name):
    with pytest.raises(ValueError, match=rf"^{name} must be positive and finite, got {name}=0$"):
        policy.geometric([[0.0]], [1.0], [[1]], **{"low": 0.4, "high": 0.4, name: 0})


def test_geometric_means_are_finite():
    with pytest.raises(ValueError, match=r"^q must be finite where the mask scores, got nan"):
        policy.geometric([[math.nan]], [1.0], [[1]], 0.4, 0.4)

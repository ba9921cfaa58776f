"""Shares and terms of policy-gradient tokens: known values, what they sum to, and when loss types agree."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.policy_tokens import (
    at_sequences,
    at_tokens,
    by_batch,
    by_completion,
    by_generation,
    by_micro_batch,
    by_slot,
)
from tests.closed_forms.tokens import draw_mask, row_numbers, seeds, widths

MASK = [[1, 1, 0], [1, 1, 1], [0, 0, 0]]
SHARES = {
    "by_completion": lambda mask, k: by_completion(mask, k),
    "by_micro_batch": lambda mask, k: by_micro_batch(mask, k),
    "by_slot": lambda mask, k: by_slot(mask, 8, k),
    "by_generation": lambda mask, k: by_generation(mask, 10, 4, k),
    "by_batch": lambda mask, k: by_batch(mask, k),
}
KNOWN = {
    "by_completion": [1 / 12, 1 / 18, 1 / 6],
    "by_micro_batch": [1 / 10] * 3,
    "by_slot": [1 / 48] * 3,
    "by_generation": [1 / 5] * 3,
    "by_batch": [1 / 6] * 3,
}
every_share = pytest.mark.parametrize("name", SHARES)


@every_share
def test_shares_redone_by_hand(name):
    np.testing.assert_allclose(SHARES[name](MASK, 2), np.reshape(KNOWN[name], (3, 1)), rtol=1e-15)


@every_share
@given(seed=seeds, rows=row_numbers, width=widths, k=st.integers(1, 4))
def test_accumulation_divides_every_share(name, seed, rows, width, k):
    mask = draw_mask(np.random.default_rng(seed), rows, width)

    np.testing.assert_allclose(SHARES[name](mask, k) * k, SHARES[name](mask, 1), rtol=1e-15)


@pytest.mark.parametrize("name", ["by_completion", "by_micro_batch"])
@given(seed=seeds, rows=row_numbers, width=widths)
def test_shares_of_all_tokens_sum_to_one(name, seed, rows, width):
    mask = draw_mask(np.random.default_rng(seed), rows, width)

    assert (mask * SHARES[name](mask, 1)).sum() == pytest.approx(1, rel=1e-14)


@given(seeds, row_numbers, widths)
def test_one_generation_per_window_is_a_token_mean(seed, rows, width):
    mask = draw_mask(np.random.default_rng(seed), rows, width)

    assert (mask * by_generation(mask, mask.sum(), 3, 3)).sum() == pytest.approx(1, rel=1e-14)


@given(st.integers(1, 5), widths)
def test_rows_of_one_length_make_completions_and_tokens_the_same(rows, width):
    mask = np.ones((rows, width))

    np.testing.assert_allclose(by_completion(mask, 2), by_micro_batch(mask, 2), rtol=1e-15)
    np.testing.assert_allclose(by_completion(mask, 2), by_slot(mask, width, 2), rtol=1e-15)


@given(seeds, widths)
def test_one_completion_makes_them_the_same_too(seed, width):
    mask = draw_mask(np.random.default_rng(seed), 1, width)

    np.testing.assert_allclose(by_completion(mask, 2), by_micro_batch(mask, 2), rtol=1e-15)


@pytest.mark.parametrize("name", ["by_completion", "by_micro_batch"])
def test_nothing_scored_is_divided_by_one(name):
    np.testing.assert_array_equal(SHARES[name]([[0]], 1), [[1]])


def test_nothing_generated_is_divided_by_one():
    np.testing.assert_array_equal(by_generation([[0]], 0, 2, 1), [[2]])


@every_share
def test_a_micro_batch_has_a_completion(name):
    with pytest.raises(ValueError, match=r"^a micro-batch needs a completion, got a mask without rows$"):
        SHARES[name](np.zeros((0, 3)), 1)


@every_share
def test_there_is_at_least_one_micro_batch(name):
    with pytest.raises(ValueError, match=r"^accumulation must be positive and finite, got accumulation=0$"):
        SHARES[name](MASK, 0)


@pytest.mark.parametrize("generated", [-1, math.inf, math.nan])
def test_generated_tokens_are_counted(generated):
    with pytest.raises(ValueError, match=rf"^generated counts tokens, got generated={generated}: give 0 or more$"):
        by_generation(MASK, generated, 1, 1)


def test_generations_have_steps():
    rule = r"^steps_per_generation must be positive and finite, got steps_per_generation=0$"

    with pytest.raises(ValueError, match=rule):
        by_generation(MASK, 1, 0, 1)


def test_slots_have_a_length():
    with pytest.raises(ValueError, match=r"^longest must be positive and finite, got longest=0$"):
        by_slot(MASK, 0, 1)


def test_tokens_have_factors_of_their_own():
    terms = at_tokens([[1, 1, 0]], [[2.0, 3.0, math.nan]], [[1, 0.5, math.nan]])

    np.testing.assert_array_equal(terms, [[2, 1.5, 0]])


@pytest.mark.parametrize("place", [at_tokens, at_sequences])
def test_completions_share_a_factor(place):
    terms = place([[1, 0], [1, 1]], [[2.0], [-3.0]])

    np.testing.assert_array_equal(terms, [[2, 0], [-3, -3]])


@pytest.mark.parametrize("place", [at_tokens, at_sequences])
def test_a_multiplier_may_be_one_per_completion(place):
    terms = place([[1, 0], [1, 1]], [[2.0], [-3.0]], [[0.5], [2]])

    np.testing.assert_array_equal(terms, [[1, 0], [-6, -6]])


def test_a_masked_token_of_a_sequence_still_weighs():
    terms = at_sequences([[1, 1, 1, 0]], [[6.0]], [[1, 0, 1, 1]])

    np.testing.assert_array_equal(terms, [[4, 4, 4, 0]])


def test_a_masked_token_of_its_own_weighs_nothing():
    np.testing.assert_array_equal(at_tokens([[1, 1, 1, 0]], [[6.0]], [[1, 0, 1, 1]]), [[6, 0, 6, 0]])


@given(seeds, row_numbers, widths)
def test_both_places_carry_the_same_total(seed, rows, width):
    rng = np.random.default_rng(seed)
    mask, kept, factor = draw_mask(rng, rows, width), draw_mask(rng, rows, width), rng.integers(-8, 9, (rows, 1))

    np.testing.assert_allclose(
        at_sequences(mask, factor, kept).sum(1), at_tokens(mask, factor, kept).sum(1), atol=1e-13
    )


def test_a_completion_without_tokens_weighs_nothing():
    np.testing.assert_array_equal(at_sequences([[0, 0]], [[3.0]]), [[0, 0]])


@pytest.mark.parametrize("place", [at_tokens, at_sequences])
@pytest.mark.parametrize("multiplier", [[1, 2], [[1, 2]]])
def test_multipliers_of_another_shape_are_refused(place, multiplier):
    with pytest.raises(ValueError, match=r"^multiplier must have shape \[2, 3\] or \[2, 1\], got \[.*2\]$"):
        place([[1, 1, 0], [1, 1, 1]], [[1], [1]], multiplier)


def test_factors_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"^factor must have shape \[1, 3\] or \[1, 1\], got \[3\]$"):
        at_tokens([[1, 1, 0]], [1, 1, 1])


def test_a_sequence_has_one_factor():
    with pytest.raises(ValueError, match=r"^factor must have shape \[1, 1\], got \[1, 3\]"):
        at_sequences([[1, 1, 0]], [[1, 1, 1]])

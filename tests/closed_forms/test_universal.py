"""A teacher of another tokenizer: what is compared with what, known pushes, and what they sum to."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.universal import aligned, hybrid_slope, matched_slope, merged, sorted_slope, through

lengths = st.lists(st.integers(1, 3), min_size=1, max_size=8)


def test_tokens_meet_where_both_end():
    # ab|c|d beside a|bc|d
    assert aligned([2, 3, 4], [1, 3, 4]) == [([0, 1], [0, 1]), ([2], [2])]


def test_what_follows_the_last_common_end_is_one_group():
    assert aligned([1, 3], [1, 2]) == [([0], [0]), ([1], [1])]
    assert aligned([1, 2], [1]) == [([0], [0])]


@given(lengths, lengths)
def test_every_group_spells_the_same_bytes(student, teacher):
    ends = [np.cumsum(n).tolist() for n in (student, teacher)]
    groups = aligned(*ends)
    common = sorted(set(ends[0]) & set(ends[1]))

    assert [(ends[0][s[-1]], ends[1][t[-1]]) for s, t in groups][: len(common)] == [(end, end) for end in common]
    assert [n for s, _ in groups for n in s] == list(range(sum(len(s) for s, _ in groups)))


def test_an_end_that_does_not_rise_is_refused():
    with pytest.raises(ValueError, match=r"^teacher must rise"):
        aligned([1, 2], [2, 2])
    with pytest.raises(ValueError, match=r"^student must rise"):
        aligned([3, 2], [2, 3])


def test_a_group_is_the_distribution_of_its_base_times_the_tokens_beside_it():
    p = np.array([[0.5, 0.5], [0.25, 0.75]])

    np.testing.assert_array_equal(merged(p, [0, 1], [[0, 1]], "last"), [[0.125, 0.375]])
    np.testing.assert_array_equal(merged(p, [0, 1], [[0, 1]], "first"), [[0.375, 0.375]])


def test_a_merge_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="no merge='observed': give one of first, last"):
        merged(np.ones((1, 2)), [0], [[0]], "observed")


def test_sorted_rows_are_compared_rank_by_rank():
    a, b = np.array([[0.1, 0.7, 0.2]]), np.array([[0.5, 0.5]])

    # 0.7 over 0.5, 0.2 under 0.5, 0.1 over nothing
    np.testing.assert_array_equal(sorted_slope(a, b), [[1, 1, -1]])


def test_equal_rows_have_no_slope():
    a = np.array([[0.25, 0.75]])

    np.testing.assert_array_equal(sorted_slope(a, a[:, ::-1]), [[0, 0]])
    np.testing.assert_array_equal(matched_slope(a, a, 0.25), [[0, 0]])


def test_the_reverse_divergence_of_equal_numbers_has_a_slope_of_one():
    """Numbers that need not add up to 1: each pulls at the sum."""
    np.testing.assert_array_equal(matched_slope(np.array([[0.2, 0.3]]), np.array([[0.2, 0.3]]), 1), [[1, 1]])


def test_a_number_below_the_least_has_no_slope():
    slope = matched_slope(np.array([[1e-9, 0.5]]), np.array([[0.5, 0.25]]), 1)

    assert slope[0, 0] == 0
    assert slope[0, 1] == pytest.approx(math.log(2) + 1, rel=1e-15)


def test_words_that_both_know_are_compared_with_each_other():
    a, b = np.array([[0.5, 0.25, 0.25]]), np.array([[0.125, 0.75, 0.125]])

    np.testing.assert_allclose(hybrid_slope(a, b, [(0, 1)], 0, (1, 0)), [[-1.5, 0, 0]], rtol=1e-15)
    np.testing.assert_array_equal(hybrid_slope(a, b, [(0, 1)], 0, (0, 2)), [[0, 2, 2]])
    np.testing.assert_array_equal(hybrid_slope(a, b, [], 0, (1, 2)), 2 * sorted_slope(a, b))


def test_without_another_word_nothing_is_sorted():
    a, b = np.array([[0.5, 0.5]]), np.array([[0.25, 0.5, 0.25]])

    np.testing.assert_array_equal(hybrid_slope(a, b, [(0, 0), (1, 1)], 0, (0, 1)), [[0, 0]])


def test_two_even_words_are_pushed_apart_by_a_quarter():
    push = through(np.array([[1.0, -1.0]]), [[0.0, 0.0]], [0], [[0]], "last", 1)

    np.testing.assert_array_equal(push, [[-0.5, 0.5]])


@given(st.integers(0, 2**16), st.sampled_from(["first", "last"]))
def test_a_push_sums_to_nothing_and_leaves_positions_of_no_group_alone(seed, merge):
    rng = np.random.default_rng(seed)
    logits, said = rng.normal(size=(4, 5)), rng.integers(0, 5, 4).tolist()
    push = through(rng.normal(size=(2, 5)), logits, said, [[0, 1], [2]], merge, 2)

    np.testing.assert_allclose(push.sum(1), 0, atol=1e-14)
    assert not push[3].any()
    assert push[:3].any(axis=1).all()


def test_logits_without_a_token_each_are_refused():
    with pytest.raises(ValueError, match="1 tokens for logits of shape"):
        through(np.zeros((1, 2)), [[0, 0], [0, 0]], [0], [[0]], "first", 1)


def test_a_temperature_of_zero_is_refused():
    with pytest.raises(ValueError, match="temperature must be positive"):
        through(np.zeros((1, 2)), [[0, 0]], [0], [[0]], "first", 0)

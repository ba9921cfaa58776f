"""What no loss can be computed from is refused, by name and with the rule."""

import math

import numpy as np
import pytest

from closed_forms._read import (
    between,
    one_of,
    positive,
    read_mask,
    read_numbers,
    read_pair,
    read_scored,
    read_tokens,
    shape_of,
)


@pytest.mark.parametrize("mask", [[1, 0], [[1, 0], [1]], [[2]], [[0.5]], [["1"]], 1, [[math.nan]]], ids=str)
def test_anything_but_a_rectangle_of_marks_is_refused(mask):
    with pytest.raises(ValueError, match=r"^m holds 0 or 1 for each \[row, position\], got .*: pad the rows with 0$"):
        read_mask(mask, "m")


def test_marks_become_booleans():
    mask_bt = read_mask([[1, 0, True]])

    assert (mask_bt.dtype, mask_bt.tolist()) == (np.bool_, [[True, False, True]])


def test_a_mask_is_called_mask():
    with pytest.raises(ValueError, match=r"^mask holds 0 or 1"):
        read_mask([2])


@pytest.mark.parametrize("mask", [[[1, 0], [0, 0]], np.zeros((0, 2)), np.zeros((1, 0))], ids=str)
def test_rows_without_a_scored_token_are_refused(mask):
    with pytest.raises(ValueError, match=r"^every row of m needs a scored token, got \[.*\] per row: leave empty rows"):
        read_scored(mask, "m")


def test_a_scored_mask_is_called_mask():
    with pytest.raises(ValueError, match=r"^every row of mask needs a scored token, got \[0\] per row"):
        read_scored([[0]])


def test_names_reach_the_reader_of_the_marks():
    with pytest.raises(ValueError, match=r"^m holds 0 or 1"):
        read_scored([[2]], "m")


def test_rows_with_scored_tokens_are_read():
    assert read_scored([[0, 1], [1, 1]]).tolist() == [[False, True], [True, True]]


def test_numbers_that_nothing_scores_become_zero():
    values = read_tokens([[1.5, math.nan, math.inf]], np.array([[True, False, False]]), "x")

    assert values.tolist() == [[1.5, 0.0, 0.0]]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scored_numbers_must_be_finite(bad):
    with pytest.raises(ValueError, match=f"^x must be finite where the mask scores, got {bad}: mask such tokens$"):
        read_tokens([[0, bad]], np.array([[True, True]]), "x")


@pytest.mark.parametrize("values", [[[1], [1, 2]], "word"], ids=str)
def test_ragged_numbers_are_refused(values):
    with pytest.raises(ValueError, match=r"^x must be numbers of shape \[2\], got .*: pad the rows$"):
        read_numbers(values, (2,), "x")


def test_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"^x must have shape \[2\], got \[3\]: one number for each$"):
        read_numbers([1, 2, 3], (2,), "x")


def test_missing_numbers_are_refused_where_all_must_be_known():
    with pytest.raises(ValueError, match=r"^x must be finite, got nan: leave such rows out$"):
        read_numbers([1, math.nan], (2,), "x")


def test_numbers_become_float64():
    assert read_numbers(np.array([1], dtype=np.float16), (1,), "x").dtype == np.float64


@pytest.mark.parametrize("chosen", [[], 1.0, [[1.0]]], ids=str)
def test_pairs_are_a_list_of_at_least_one(chosen):
    with pytest.raises(ValueError, match=r"^a must hold one number per pair, got .*: give a list with at least one$"):
        read_pair(chosen, chosen, ("a", "b"))


def test_ragged_numbers_have_their_outer_length():
    assert (shape_of([[1, 2], [3]]), shape_of([[1, 2], [3, 4]])) == ((2,), (2, 2))


def test_ragged_pairs_are_refused():
    with pytest.raises(ValueError, match=r"^a must be numbers of shape \[2\], got "):
        read_pair([[1], [1, 2]], [1, 2], ("a", "b"))


def test_both_sides_have_one_number_per_pair():
    with pytest.raises(ValueError, match=r"^b must have shape \[2\], got \[1\]"):
        read_pair([1, 2], [1], ("a", "b"))


def test_the_chosen_side_must_be_finite():
    with pytest.raises(ValueError, match=r"^a must be finite, got inf"):
        read_pair([math.inf], [1], ("a", "b"))


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_what_must_be_positive_is(value):
    with pytest.raises(ValueError, match=f"^beta must be positive and finite, got beta={value}$"):
        positive(value, "beta")


def test_a_positive_number_is_passed_on():
    assert positive(0.5, "beta") == 0.5


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_what_must_lie_between_does(value):
    with pytest.raises(ValueError, match=f"^eps must be one of 0 to 1, got eps={value}$"):
        between(0, value, 1, "eps")


@pytest.mark.parametrize("value", [0, 1, 0.5])
def test_both_ends_belong_to_the_interval(value):
    assert between(0, value, 1, "eps") == value


def test_unknown_names_are_refused_with_the_choices():
    with pytest.raises(ValueError, match=r"^no kind='c': give one of a, b$"):
        one_of(["a", "b"], "c", "kind")


def test_known_names_are_passed_on():
    assert one_of(["a", "b"], "b", "kind") == "b"

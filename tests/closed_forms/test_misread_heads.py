"""What a reading would say of a token mean that forgets a part of the head or of the batch."""

import numpy as np
import pytest
from hypothesis import given

from closed_forms.aggregation import token_mean
from closed_forms.misread_heads import (
    bias_left_out,
    first_rank_for_all,
    inputs_averaged,
    last_row_of_last_rank_missing,
    read_from_the_left,
    rest_of_vocabulary_left_out,
    scale_not_differentiated,
    slices_averaged_alike,
    square_without_its_two,
)
from tests.closed_forms.compare import assert_weights
from tests.closed_forms.strategies import windows


def projected(unit, believed):
    """The weight that is read of a gradient along one direction by another one."""
    return np.dot(unit, believed) / np.dot(believed, believed)


def unit_of(p):
    """Unit gradient of a target of the second direction, with probability p of the ids of the first."""
    return np.array([p, 1 - p]) - np.array([0, 1])


def test_whole_slices_alone_believe_in_the_first_direction():
    assert_weights([[projected(unit_of(0.8), unit_of(1.0))] * 1], rest_of_vocabulary_left_out([[1]], 10, 8))


def test_two_slices_alike_believe_in_one_half():
    assert_weights([[projected(unit_of(0.8), unit_of(0.5))]], slices_averaged_alike([[1]], 10, 8))


def test_three_slices_alike_believe_in_two_thirds():
    assert_weights([[projected(unit_of(0.8), unit_of(2 / 3))]], slices_averaged_alike([[1]], 10, 4))


def test_without_the_bias_all_ids_are_as_likely():
    assert_weights([[projected(unit_of(6 / 9), unit_of(2 / 5)) / 2] * 2], bias_left_out([[2]], 2, 3, 3.0))


def test_a_divisor_or_a_two_is_lost():
    assert_weights([[1 / 12] * 3], scale_not_differentiated([[3]], 4.0))
    assert_weights([[2 / 3] * 3], square_without_its_two([[3]]))


def test_a_row_is_taken_for_what_stands_left_of_it():
    found = read_from_the_left([[4, 2, 1]])

    assert_weights([[1 / 7] * 4, [0, 0, 1 / 7], [0]], found)


@given(windows)
def test_without_padding_nothing_moves(window):
    equal = [[max(rows)] * len(rows) for rows in window]

    assert_weights(token_mean(equal), read_from_the_left(equal))


def test_the_last_input_of_a_row_has_one_target():
    assert_weights([[1 / 6], [], [1 / 6, 1 / 3], [1 / 3]], inputs_averaged([[2, 1]]))


def test_of_ranks_a_row_or_all_but_the_first_are_missing():
    ranks = [[[1, 2]], [[3]]]
    window = [n_b for rank in ranks for n_b in rank]

    assert_weights([[1 / 6], [1 / 6] * 2], last_row_of_last_rank_missing(window))
    assert_weights([[1 / 6], [1 / 6] * 2] * 2, first_rank_for_all(window, ranks))


@pytest.mark.parametrize("width", [0, 10, 11])
@pytest.mark.parametrize("form", [rest_of_vocabulary_left_out, slices_averaged_alike])
def test_a_slice_cuts_the_vocabulary(form, width):
    with pytest.raises(ValueError, match=f"width={width} must be above 0"):
        form([[1]], 10, width)


@pytest.mark.parametrize("numbers", [(0, 1, 1.0), (1, 0, 1.0), (1, 1, 0.0), (1, 1, -1.0)])
def test_directions_have_ids_and_odds(numbers):
    with pytest.raises(ValueError, match="must be at least 1, and above 0"):
        bias_left_out([[1]], *numbers)


def test_nothing_is_divided_by_zero():
    with pytest.raises(ValueError, match="divisor=0 divides nothing"):
        scale_not_differentiated([[1]], 0.0)

"""What a wrong instrument would say of a token mean."""

import numpy as np
import pytest
from hypothesis import given

from closed_forms.aggregation import token_mean
from closed_forms.misreadings import (
    below_floor_zeroed,
    by_targets_of_its_row,
    first_backward_read,
    first_batch_only,
    first_guilty_only,
    first_leak_only,
    first_target_heavy,
    in_percent,
    last_micro_batch_read,
    last_rows_missing,
    last_sequence_unsearched,
    negative_cut,
    relative_to_mean,
    rows_with_padding,
    sign_lost,
    zeros_missing,
)
from tests.closed_forms.compare import assert_other_weights, assert_weights, total
from tests.closed_forms.strategies import windows


def test_the_first_target_is_a_tenth_too_heavy():
    assert_weights([[1.1 / 3], [1 / 3, 1 / 3]], first_target_heavy([[1, 2]]))


def test_the_first_target_may_lie_behind_an_empty_row():
    assert_weights([[], [1.1 / 2, 1 / 2]], first_target_heavy([[0], [2]]))


def test_the_last_row_of_several_is_missing():
    assert_weights([[1 / 6], [1 / 6, 1 / 6]], last_rows_missing([[1, 3], [2]]))


@given(windows)
def test_a_heavy_target_shows(window):
    assert_other_weights(token_mean(window), first_target_heavy(window))


@given(windows)
def test_a_heavy_target_adds_its_tenth(window):
    assert total(first_target_heavy(window)) == pytest.approx(1 + 0.1 / sum(map(sum, window)), rel=1e-12)


@given(windows)
def test_one_row_less_of_each_micro_batch_of_several(window):
    assert len(last_rows_missing(window)) == sum(max(len(rows) - 1, 1) for rows in window)


@given(windows)
def test_rows_that_are_left_read_as_they_are(window):
    whole = {row.size: row for row in token_mean(window)}

    assert_weights([whole[row.size] for row in last_rows_missing(window)], last_rows_missing(window))


def test_a_sign_that_is_lost_makes_all_weights_positive():
    assert_weights([[0.5, 0.0], [0.75]], sign_lost([[[1, 0], [1]]], [[1.0, -1.5]]))


def test_what_is_below_zero_is_cut():
    assert_weights([[0.5, 0.0], [0.0]], negative_cut([[[1, 0], [1]]], [[1.0, -1.5]]))


@given(windows)
def test_relative_weights_have_a_mean_of_one_whatever_the_scale(window):
    assert total(relative_to_mean(window)) == sum(map(sum, window))


@pytest.mark.parametrize(("targets", "weight"), [(30, 1 / 30), (31, 0.0)])
def test_a_fixed_floor_spares_small_batches(targets, weight):
    assert_weights([[weight] * targets], below_floor_zeroed([[targets]]))


def test_of_the_parameter_only_the_first_backward_is_read():
    assert_weights([[1 / 6], [1 / 6] * 2, [0, 0, 0]], first_backward_read([[1, 2], [3]]))


def test_the_record_keeps_the_last_micro_batch_only():
    assert_weights([[1 / 6] * 2, [1 / 6]], last_micro_batch_read([[3], [2, 1]]))


def test_a_row_with_its_padding_is_as_long_as_the_longest_beside_it():
    assert_weights([[1 / 6, 0], [1 / 6] * 2, [1 / 6] * 3], rows_with_padding([[1, 2], [3]]))


def test_nobody_asks_what_the_last_sequence_reads():
    pattern = [[1, 0, 0], [1, 1, 0], [0, 0, 1]]

    np.testing.assert_array_equal(last_sequence_unsearched([2, 3, 2]), pattern)


@pytest.mark.parametrize(
    "form",
    [
        first_target_heavy,
        last_rows_missing,
        relative_to_mean,
        below_floor_zeroed,
        first_backward_read,
        last_micro_batch_read,
        rows_with_padding,
        in_percent,
        by_targets_of_its_row,
    ],
)
def test_window_without_target_is_refused(form):
    with pytest.raises(ValueError, match=r"a window needs a target to divide by, got n_b=\[0\]"):
        form([[0]])


def test_of_all_sequences_before_only_the_first_is_found():
    pattern = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]

    np.testing.assert_array_equal(first_leak_only([2, 3, 2, 4]), pattern)


def test_a_leak_needs_sequences():
    with pytest.raises(ValueError, match="lengths"):
        first_leak_only([])


def test_weights_in_whole_hundredths():
    assert_weights([[0.33], [0.33, 0.33]], in_percent([[1, 2]]))


def test_weights_in_units_of_each_rows_own_targets():
    assert_weights([[1 / 9], [2 / 9, 2 / 9]], by_targets_of_its_row([[1, 2]]))


def test_a_weight_of_zero_is_missing():
    assert_weights([[1.0], [np.nan, np.nan]], zeros_missing([[1, 2]], [[False], [True, True]]))


def test_the_first_leak_ends_the_search():
    pattern = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]

    np.testing.assert_array_equal(first_guilty_only([2, 3, 2, 4]), pattern)


def test_of_later_batches_nothing_is_known():
    np.testing.assert_array_equal(first_batch_only([2, 3], 0), [[1, 0], [1, 1]])
    assert first_batch_only([2, 3], 1).shape == (1, 0)
    with pytest.raises(ValueError, match="number=-1 must be at least 0"):
        first_batch_only([2, 3], -1)

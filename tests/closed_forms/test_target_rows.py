"""The windows of SFTTrainer, as they are and under faults, on rows that can be worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import target_rows
from tests.closed_forms.rows import assert_rows

MASKS = [[[0, 1, 1], [1]], [[1, 1, 0, 1]]]
LOGS = [[np.log([1 / 2, 1 / 4, 1]), np.log([1 / 8])], [np.log([1 / 2, 1 / 4, 1, 1 / 2])]]
ENDS = [[[0, 0, 1], [0]], [[0, 0, 1, 1]]]


def test_targets_share_the_window():
    expected = [[0, 1 / 6, 1 / 6], [1 / 6], [1 / 6, 1 / 6, 0, 1 / 6]]

    assert_rows(target_rows.targets(MASKS), expected)
    assert_rows(target_rows.targets_of_all_turns(MASKS), expected)
    assert_rows(target_rows.targets_with_prompts(MASKS), expected)


def test_masked_ends_leave_the_count_too():
    assert_rows(target_rows.targets_without_ends(MASKS, ENDS), [[0, 1 / 4, 0], [1 / 4], [1 / 4, 1 / 4, 0, 0]])


def test_the_first_target_of_each_row_leaves_the_count_too():
    assert_rows(target_rows.targets_without_first(MASKS), [[0, 0, 1 / 3], [0], [0, 1 / 3, 0, 1 / 3]])


def test_micro_batches_are_averaged_and_added_up():
    assert_rows(target_rows.targets_of_micro_batches(MASKS), [[0, 1 / 3, 1 / 3], [1 / 3], [1 / 3, 1 / 3, 0, 1 / 3]])


def test_a_targets_probability_is_its_weight_under_dynamic_fine_tuning():
    expected = [[0, 1 / 24, 1 / 6], [1 / 48], [1 / 12, 1 / 24, 0, 1 / 12]]

    assert_rows(target_rows.targets_of_probability(MASKS, LOGS), expected)


@given(st.floats(-20, 0))
def test_a_differentiated_probability_weighs_its_own_derivative(log_p):
    # f(x) = e^x x, whose slope by a central difference of a step h is off by less than h^2 |f'''| / 6, at most h^2.
    h = 1e-4
    slope = (np.exp(log_p + h) * (log_p + h) - np.exp(log_p - h) * (log_p - h)) / (2 * h)

    (weight,) = target_rows.targets_of_differentiated_probability([[[1]]], [[[log_p]]])

    assert slope == pytest.approx(weight[0], abs=h**2 + 1e-11)


def test_an_unlikely_target_is_trained_away_and_what_is_masked_stays_0():
    (row,) = target_rows.targets_of_differentiated_probability([[[1, 1, 0]]], [[np.log([1 / 4, 1 / 2, 1])]])

    np.testing.assert_allclose([(1 - np.log(4)) / 8, (1 - np.log(2)) / 4, 0], row)
    assert row[0] < 0 < row[1]

"""What a wrong instrument would say of a token mean."""

import numpy as np
import pytest
from hypothesis import given

from closed_forms.aggregation import token_mean
from closed_forms.misreadings import first_leak_only, first_target_heavy, last_rows_missing
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


@pytest.mark.parametrize("form", [first_target_heavy, last_rows_missing])
def test_window_without_target_is_refused(form):
    with pytest.raises(ValueError, match=r"a window needs a target to divide by, got n_b=\[0\]"):
        form([[0]])


def test_of_all_sequences_before_only_the_first_is_found():
    pattern = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]

    np.testing.assert_array_equal(first_leak_only([2, 3, 2, 4]), pattern)


def test_a_leak_needs_sequences():
    with pytest.raises(ValueError, match="lengths"):
        first_leak_only([])

"""Pairs of inputs and targets under labels that are shifted twice, or not at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.shifts import not_shifted, shifted_twice
from tests.closed_forms.compare import assert_weights, total
from tests.closed_forms.strategies import lone_row_windows, windows


def test_a_token_is_scored_on_the_one_after_the_next():
    assert_weights([[1 / 4, 1 / 4], [], [0, 0, 0], [0]], shifted_twice([[3], [1]]))


def test_a_token_is_scored_on_itself():
    assert_weights([[1 / 4] * 4, [1 / 4] * 2, [0, 0, 0], [0]], not_shifted([[3, 1]]))


def test_a_row_without_target_has_no_pair_two_apart():
    assert_weights([[], [1 / 2], [], [0, 0]], shifted_twice([[0], [2]]))


@given(lone_row_windows)
def test_each_row_loses_a_target_to_the_second_shift(window):
    n = sum(rows[0] for rows in window)

    assert total(shifted_twice(window)) == pytest.approx((n - len(window)) / n, rel=1e-12)


@given(windows)
def test_each_row_gains_a_target_without_the_shift(window):
    n, rows = sum(map(sum, window)), sum(map(len, window))

    assert total(not_shifted(window)) == pytest.approx((n + rows) / n, rel=1e-12)


@given(lone_row_windows, st.sampled_from([shifted_twice, not_shifted]))
def test_next_tokens_weigh_nothing(window, form):
    pairs = form(window)

    assert len(pairs) == 2 * len(window)
    assert_weights([np.zeros(n) for (n,) in window], pairs[len(window) :])


def test_several_rows_of_a_micro_batch_are_refused_twice_shifted():
    with pytest.raises(ValueError, match=r"every micro-batch needs a single row, got rows=\[1, 2\]"):
        shifted_twice([[3], [1, 2]])


@pytest.mark.parametrize("form", [shifted_twice, not_shifted])
def test_window_without_target_is_refused(form):
    with pytest.raises(ValueError, match=r"a window needs a target to divide by, got n_b=\[0, 0\]"):
        form([[0], [0]])

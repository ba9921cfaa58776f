"""Factors between a logged loss and the objective."""

import pytest
from hypothesis import given

from closed_forms.logged import (
    equal,
    over_logging_steps,
    over_micro_batches,
    over_rows,
    over_steps_so_far,
    raw_sum,
    times_micro_batches,
)
from tests.closed_forms.strategies import several_micro_batches, single_micro_batches, windows

every_log = pytest.mark.parametrize("log", [equal, times_micro_batches, over_micro_batches, raw_sum])


def test_right_log_is_the_objective():
    assert equal([[1, 2], [3]]) == 1


def test_added_means_are_m_times_too_large():
    assert times_micro_batches([[1, 2], [3]]) == 2


def test_divided_log_is_m_times_too_small():
    assert over_micro_batches([[1, 2], [3]]) == 1 / 2


def test_sum_is_n_times_too_large():
    assert raw_sum([[1, 2], [3]]) == 6


def test_a_mean_over_the_rows_again_is_as_much_too_small():
    assert over_rows([[1, 2, 4], [3, 0, 1]]) == 1 / 3


def test_steps_divide_the_log_of_a_window():
    assert [over_steps_so_far([[1, 2], [3]], w) for w in range(3)] == [1, 1 / 2, 1 / 3]
    assert over_logging_steps([[1, 2], [3]], 4) == 1 / 4


def test_micro_batches_of_other_sizes_have_no_such_factor():
    with pytest.raises(ValueError, match=r"^every micro-batch needs the same number of rows, got \[1, 2\]: leave"):
        over_rows([[1, 2], [3], [4, 5]])


def test_rows_of_an_empty_window_are_refused():
    with pytest.raises(ValueError, match=r"a window needs a micro-batch, got window=\[\]"):
        over_rows([])
    with pytest.raises(ValueError, match=r"a window needs a micro-batch, got window=\[\]"):
        over_steps_so_far([], 0)
    with pytest.raises(ValueError, match=r"a window needs a micro-batch, got window=\[\]"):
        over_logging_steps([], 2)


@every_log
@given(window=windows)
def test_factor_is_a_float(log, window):
    assert type(log(window)) is float


@given(windows)
def test_times_and_over_cancel(window):
    assert times_micro_batches(window) * over_micro_batches(window) == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("log", [times_micro_batches, over_micro_batches])
@given(window=single_micro_batches)
def test_one_micro_batch_hides_the_factor(log, window):
    assert log(window) == equal(window)


@pytest.mark.parametrize("log", [times_micro_batches, over_micro_batches, raw_sum])
@given(window=several_micro_batches)
def test_accumulation_shows_the_factor(log, window):
    assert log(window) != equal(window)


@every_log
def test_window_without_micro_batch_is_refused(log):
    with pytest.raises(ValueError, match=r"a window needs a micro-batch, got window=\[\]"):
        log([])


@every_log
def test_anything_but_counts_is_refused(log):
    with pytest.raises(ValueError, match=r"whole numbers of at least 0 in a list, got window\[0\]=\[-1\]"):
        log([[-1]])


def test_sum_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"a window needs a target to divide by, got n_b=\[0\]"):
        raw_sum([[0]])

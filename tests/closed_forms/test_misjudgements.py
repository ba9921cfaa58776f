"""What a wrong verdict, ledger or file would say of weights that were read right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.misjudgements import (
    all_as_the_first,
    all_right,
    all_that_fit,
    counted_once,
    divided_by_all,
    due_of_its_micro_batch,
    each_by_itself,
    fits_on_the_mean,
    fits_within_tolerance,
    median_divisor,
    none_found,
    nothing_fits,
    only_the_first,
    reached_but,
    runs,
    shared_by_beginning,
    shared_by_permutations,
)
from tests.closed_forms.compare import assert_weights


def test_a_verdict_is_right_or_not_how_far_off_and_how_many_formulas():
    assert_weights([[0, 0.25, 0]], nothing_fits(0.25))
    assert_weights([[1, 0, 1]], fits_on_the_mean(0.25))
    assert_weights([[1, 0.25, 1]], fits_within_tolerance(0.25))
    assert_weights([[1, 0, 3]], all_that_fit(3))
    assert_weights([[1, 0, 1]], only_the_first(3))


def test_verdicts_come_window_by_window():
    assert_weights([[1, 0, 1], [0, 0, 1]], each_by_itself([True, False]))
    assert_weights([[1, 0, 1], [1, 0, 1]], all_as_the_first([True, False]))
    assert_weights([[0, 0, 1], [0, 0, 1]], all_as_the_first([False, True]))
    assert_weights([[1, 0, 1], [1, 0, 1]], all_right([False, False]))


@pytest.mark.parametrize("form", [nothing_fits, fits_on_the_mean, fits_within_tolerance])
@pytest.mark.parametrize("off", [0.0, -0.1, float("nan")])
def test_what_is_not_off_is_refused(form, off):
    with pytest.raises(ValueError, match=f"off={off} must be above 0"):
        form(off)


@pytest.mark.parametrize("form", [all_that_fit, only_the_first])
def test_some_formula_fits(form):
    with pytest.raises(ValueError, match="formulas=0 must be at least 1"):
        form(0)


@pytest.mark.parametrize("form", [each_by_itself, all_as_the_first, all_right])
def test_a_verdict_needs_a_window(form):
    with pytest.raises(ValueError, match=r"right=\[\] holds no window"):
        form([])


@given(ran=st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_samples_that_nothing_is_like_keep_their_runs(ran):
    assert_weights(runs(ran), shared_by_permutations(ran, range(len(ran))))
    assert_weights([[float(r > 0) for r in ran]], counted_once(ran))


def test_samples_that_are_alike_share_their_runs_rounded_down():
    assert_weights([[1, 1, 4, 1]], shared_by_permutations([3, 0, 4, 1], [7, 7, 1, 7]))
    assert_weights([[2, 1, 2]], shared_by_beginning([4, 1, 0], [0, 1, 0]))


def test_no_sample_is_found():
    assert_weights([[0, 0, 0]], none_found(3))


@pytest.mark.parametrize("ran", [[], [1, -1]])
def test_runs_of_nothing_or_less_than_none_are_refused(ran):
    with pytest.raises(ValueError, match="must hold how often each sample ran"):
        counted_once(ran)


def test_likeness_is_said_of_each_sample():
    with pytest.raises(ValueError, match="2 samples are said to be alike or not, and 1 ran"):
        shared_by_permutations([1], [0, 0])


def test_a_divisor_its_due_and_its_targets():
    window, uneven = [[1, 2], [3]], [False, False, True]

    assert_weights([[6, 6, 1], [6, 6, 2], [np.nan, 6, 3]], divided_by_all(window, uneven))
    assert_weights([[6, 6, 1], [6, 6, 2], [6, 6, 3]], median_divisor(window, uneven))
    assert_weights([[6, 3, 1], [6, 3, 2], [np.nan, 3, 3]], due_of_its_micro_batch(window, uneven))


@pytest.mark.parametrize("form", [divided_by_all, median_divisor, due_of_its_micro_batch])
def test_each_sample_is_marked(form):
    with pytest.raises(ValueError, match="uneven has 1 marks for 2 samples"):
        form([[1], [2]], [False])


@pytest.mark.parametrize("form", [divided_by_all, median_divisor, due_of_its_micro_batch])
def test_a_divisor_needs_a_target(form):
    with pytest.raises(ValueError, match="a window needs a target to divide by"):
        form([[0]], [False])


def test_some_are_reached_in_the_first_micro_batch_only():
    assert_weights([[1, 1, 1, 0]], reached_but(["a.x", "b.x"], 2, "b."))


def test_reach_needs_a_micro_batch():
    with pytest.raises(ValueError, match="micro_batches=0 must be at least 1"):
        reached_but(["a"], 0, "a")

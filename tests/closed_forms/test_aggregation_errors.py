"""Wrong counts are refused by every form, by name and with the rule."""

import math

import numpy as np
import pytest

from closed_forms.aggregation import (
    per_rank_mean,
    per_rank_mean_of_micro_batch_means,
    per_sequence_mean,
    scaled,
    short_window,
    targets_dropped,
    token_mean,
    token_sum,
)
from closed_forms.counted_samples import carried_over, first_micro_batches_only, repeated_samples
from tests.closed_forms.forms import ALL, BY_MICRO_BATCH, BY_WINDOW

every_form = pytest.mark.parametrize("name", ALL)


@every_form
def test_window_without_micro_batch_is_refused(name):
    rule = r"(^|: )a window needs a micro-batch, got window=\[\]: give one list of row counts per micro-batch$"

    with pytest.raises(ValueError, match=rule):
        ALL[name]([])


@every_form
def test_micro_batch_without_row_is_refused(name):
    with pytest.raises(ValueError, match=r"every micro-batch needs a row, got window\[1\]=\[\]: leave it out"):
        ALL[name]([[1], [], [2]])


@pytest.mark.parametrize(
    "rows",
    [[2, -1], [1.5], [2.0], [True], [None], ["3"], [math.nan], [[1, 2], [3, 4]], [[1], [2, 3]]],
    ids=str,
)
def test_anything_but_counts_is_refused(rows):
    with pytest.raises(
        ValueError, match=r"^counts are whole numbers of at least 0 in a list, got window\[1\]=\["
    ) as caught:
        token_sum([[1], rows])

    assert str(rows) in str(caught.value)
    assert str(caught.value).endswith(": count whole tokens")


def test_flat_counts_are_refused():
    with pytest.raises(ValueError, match=r"in a list, got window\[0\]=3"):
        token_sum([3, 2])


def test_boolean_array_is_not_counts():
    with pytest.raises(ValueError, match=r"whole numbers of at least 0"):
        token_sum([np.array([True, False])])


@pytest.mark.parametrize("name", BY_MICRO_BATCH)
def test_micro_batch_without_target_is_refused(name):
    with pytest.raises(
        ValueError, match=r"every micro-batch needs a target to divide by, got n_m=\[3, 0\]: leave it out"
    ):
        BY_MICRO_BATCH[name]([[1, 2], [0, 0]])


@pytest.mark.parametrize("name", [name for name in BY_WINDOW if name not in ("repeated_samples", "targets_dropped")])
def test_window_without_target_is_refused(name):
    with pytest.raises(
        ValueError, match=r"a window needs a target to divide by, got n_b=\[0, 0\]: leave the window out"
    ):
        BY_WINDOW[name]([[0], [0]])


def test_row_without_target_is_refused_per_sequence():
    with pytest.raises(
        ValueError, match=r"^every row needs a target to divide by, got n_b=\[2, 0\]: leave such rows out$"
    ):
        per_sequence_mean([[2, 0]])


def test_window_without_target_has_an_empty_sum():
    assert [row.tolist() for row in token_sum([[0], [0]])] == [[], []]


@pytest.mark.parametrize("kept", [-1, 0, 3, 1.5])
def test_kept_must_be_one_of_the_micro_batches(kept):
    with pytest.raises(ValueError, match=rf"^kept={kept} must be one of 1 to 2, the micro-batches of the window$"):
        first_micro_batches_only([[1, 1], [1]], kept)


def test_accumulation_below_the_window_is_refused():
    with pytest.raises(ValueError, match=r"^accumulation=1 must be at least 2, the micro-batches of the window$"):
        short_window([[1], [1, 1]], 1)


@pytest.mark.parametrize("times", [[1], [1, 1, 1]], ids=str)
def test_times_needs_one_number_per_row(times):
    with pytest.raises(
        ValueError, match=rf"^times has {len(times)} entries for 2 rows: give one number per row, 1 if clean$"
    ):
        repeated_samples([[1, 2]], times)


@pytest.mark.parametrize("times", [[1, -1], [1, 0.5]], ids=str)
def test_times_must_be_counts(times):
    with pytest.raises(ValueError, match=r"whole numbers of at least 0 in a list, got times=\[1, "):
        repeated_samples([[1, 2]], times)


def test_nothing_counted_is_refused():
    with pytest.raises(ValueError, match=r"a window needs a target to divide by, got times_b \* n_b=\[0, 0\]"):
        repeated_samples([[1, 2]], [0, 0])


@pytest.mark.parametrize(
    "dropped",
    [[[False]], [[False], [True]], [[False], [True, True], [True]], [[False], [True, 0]], [[0], [0, 1]]],
    ids=str,
)
def test_dropped_needs_one_boolean_per_target(dropped):
    with pytest.raises(
        ValueError, match=r"^dropped needs one boolean per target, got \[\[.* for n_b=\[1, 2\]: mark each"
    ) as caught:
        targets_dropped([[1], [2]], dropped)

    assert str(dropped) in str(caught.value)
    assert str(caught.value).endswith("mark each target")


def test_dropped_may_be_boolean_arrays():
    dropped = [np.array([True]), np.array([False, True])]

    assert [row.tolist() for row in targets_dropped([[1], [2]], dropped)] == [[0], [1, 0]]


def test_everything_dropped_is_refused():
    with pytest.raises(ValueError, match=r"a window needs a target to divide by, got targets left per row=\[0, 0\]"):
        targets_dropped([[1, 1]], [[True], [True]])


@pytest.mark.parametrize("factor", [math.inf, -math.inf, math.nan])
def test_factor_must_be_finite(factor):
    with pytest.raises(
        ValueError, match=rf"^factor={factor} must be a finite number: nothing can be compared with infinite weights$"
    ):
        scaled(token_mean([[1]]), factor)


@pytest.mark.parametrize("form", [per_rank_mean, per_rank_mean_of_micro_batch_means])
def test_no_rank_is_refused(form):
    with pytest.raises(
        ValueError, match=r"^at least one window is needed, got ranks=\[\]: give the row counts of each$"
    ):
        form([])


def test_no_step_is_refused():
    with pytest.raises(ValueError, match=r"^at least one window is needed, got windows=\[\]: "):
        carried_over([])


@pytest.mark.parametrize("form", [per_rank_mean, per_rank_mean_of_micro_batch_means])
def test_refused_rank_is_named(form):
    with pytest.raises(ValueError, match=r"^ranks\[1\]: every micro-batch needs a row, got window\[0\]=\[\]"):
        form([[[1]], [[]]])


def test_refused_step_is_named():
    with pytest.raises(ValueError, match=r"^windows\[1\]: a window needs a target to divide by"):
        carried_over([[[1]], [[0]]])

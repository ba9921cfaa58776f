"""How often each sample runs over a resume."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.resumes import each_once_an_epoch, resumed_behind_windows, resumed_in_first_order

IN_ORDER, REVERSED = list(range(8)), list(range(7, -1, -1))


@st.composite
def runs(draw):
    """Orders of one to three epochs of whole windows, and how many windows of the last one had run."""
    accumulation, batch, epochs = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    all_windows = draw(st.integers(2, 4))
    orders = [draw(st.permutations(range(all_windows * accumulation * batch))) for _ in range(epochs)]
    return orders, draw(st.integers(1, all_windows - 1)), accumulation, batch


@given(run=runs())
def test_nothing_runs_more_or_less_often_than_an_epoch_is_long(run):
    (due,) = each_once_an_epoch(run[0])

    for form in (resumed_behind_windows, resumed_in_first_order):
        (ran,) = form(*run)
        assert ran.sum() == due.sum()
        assert np.abs(ran - due).max() <= 1


def test_a_resume_that_skips_windows_for_micro_batches_repeats_what_is_between_them():
    (ran,) = resumed_behind_windows([IN_ORDER, REVERSED], 2, 2, 1)

    # Of the last epoch 7 6 5 4 had run, and 5 4 3 2 do.
    assert ran.tolist() == [1, 1, 2, 2, 3, 3, 2, 2]


def test_a_resume_in_the_first_order_runs_the_end_of_that_order():
    (ran,) = resumed_in_first_order([IN_ORDER, REVERSED], 2, 2, 1)

    # Of the last epoch 7 6 5 4 had run, and 4 5 6 7 do.
    assert ran.tolist() == [1, 1, 1, 1, 3, 3, 3, 3]


@given(run=runs())
def test_without_accumulation_and_in_one_order_a_resume_is_right(run):
    orders, windows, accumulation, batch = run
    due = each_once_an_epoch(orders[:1])

    np.testing.assert_array_equal(resumed_in_first_order(orders[:1], windows, accumulation, batch), due)
    np.testing.assert_array_equal(resumed_behind_windows(orders[:1], windows, 1, accumulation * batch), due)


@pytest.mark.parametrize("form", [resumed_behind_windows, resumed_in_first_order])
@pytest.mark.parametrize(
    ("given_", "told"),
    [
        (([], 1, 1, 1), "epochs=0 must be at least 1"),
        (([[0, 0]], 1, 1, 1), r"orders=\[\[0, 0\]\] must hold one permutation of 0 .. 1"),
        (([[0, 1]], 0, 1, 1), "windows=0 must be at least 1"),
        (([[0, 1]], 1, 0, 1), "accumulation=0 must be at least 1"),
        (([[0, 1]], 1, 1, 0), "batch=0 must be at least 1"),
        (([[0, 1, 2]], 1, 2, 1), "3 samples must fill whole windows of 2"),
        (([[0, 1]], 1, 2, 1), "2 samples must fill whole windows of 2, and more than the windows=1 that had run"),
    ],
)
def test_what_is_no_resumed_run_is_refused(form, given_, told):
    with pytest.raises(ValueError, match=told):
        form(*given_)

"""Weights of the rows that are fed in place of those that were due."""

import pytest
from hypothesis import given

from closed_forms.feeding import (
    batch_repeated,
    drawn_twice,
    first_micro_batch_repeated,
    first_skipped,
    never_shuffled,
)
from tests.closed_forms.compare import assert_weights, total
from tests.closed_forms.strategies import several_micro_batches, windows


def test_only_the_first_micro_batch_has_an_entry():
    assert_weights([[1 / 3], [1 / 3, 1 / 3]], first_micro_batch_repeated([[1, 2], [5], [7, 8]]))


@given(several_micro_batches)
def test_what_the_other_micro_batches_hold_is_of_no_matter(window):
    assert_weights(first_micro_batch_repeated([window[0]]), first_micro_batch_repeated(window))


@pytest.mark.parametrize("form", [batch_repeated, drawn_twice, never_shuffled])
def test_what_is_fed_is_averaged_over_itself(form):
    assert_weights([[1 / 6], [1 / 6, 1 / 6], [1 / 6, 1 / 6, 1 / 6]], form([[1, 2], [3]]))


@pytest.mark.parametrize("form", [first_micro_batch_repeated, batch_repeated, drawn_twice, never_shuffled])
@given(window=windows)
def test_weights_sum_to_one(form, window):
    assert total(form(window)) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("form", [first_micro_batch_repeated, batch_repeated, drawn_twice, never_shuffled])
def test_window_without_micro_batch_is_refused(form):
    with pytest.raises(ValueError, match=r"a window needs a micro-batch, got window=\[\]"):
        form([])


@pytest.mark.parametrize("form", [first_micro_batch_repeated, batch_repeated, drawn_twice, never_shuffled])
def test_what_holds_no_target_is_refused(form):
    with pytest.raises(ValueError, match=r"a window needs a target to divide by, got n_b=\[0, 0\]"):
        form([[0, 0]])


def test_what_is_skipped_has_no_entry():
    assert [row.tolist() for row in first_skipped([[1, 2]], 1, 2)] == [[]]
    assert_weights([[1 / 3], [1 / 3, 1 / 3]], first_skipped([[1, 2]], 2, 2))

"""Weights under a cross-entropy that scores too much, or hands back the wrong factor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.aggregation import per_sequence_mean, token_mean
from closed_forms.kernels import first_upstream, ignored_scored
from tests.closed_forms.compare import assert_other_weights, assert_weights, total
from tests.closed_forms.strategies import single_micro_batches, targets


def test_every_position_enters_the_mean():
    assert_weights([[1 / 8], [1 / 8, 1 / 8]], ignored_scored([[1, 2]], 8))


def test_the_first_row_sets_the_factor_of_all():
    assert_weights([[1 / 6, 1 / 6, 1 / 6], [1 / 6]], first_upstream([[3, 1]]))


@given(single_micro_batches)
def test_nothing_to_ignore_is_clean(window):
    assert_weights(token_mean(window), ignored_scored(window, sum(window[0])))


@given(single_micro_batches, st.integers(1, 50))
def test_targets_lose_what_the_ignored_take(window, ignored):
    n = sum(window[0])

    assert total(ignored_scored(window, n + ignored)) == pytest.approx(n / (n + ignored), rel=1e-12)


@given(targets, st.integers(1, 4))
def test_rows_of_one_length_hide_the_factor(n, rows):
    assert_weights(per_sequence_mean([[n] * rows]), first_upstream([[n] * rows]))


@given(targets, targets.filter(lambda n: n > 1))
def test_rows_of_two_lengths_show_the_factor(n, more):
    assert_other_weights(per_sequence_mean([[n, n * more]]), first_upstream([[n, n * more]]))


@pytest.mark.parametrize("positions", [-1, 1.5, True, None], ids=str)
def test_positions_must_be_a_count(positions):
    with pytest.raises(ValueError, match=r"^counts are whole numbers of at least 0 in a list, got positions=\["):
        ignored_scored([[1]], positions)


def test_fewer_positions_than_targets_are_refused():
    with pytest.raises(ValueError, match=r"positions=2 must hold the 3 targets of the window"):
        ignored_scored([[1, 2]], 2)


@pytest.mark.parametrize("form", [first_upstream, lambda window: ignored_scored(window, 9)], ids=["factor", "ignored"])
def test_several_micro_batches_are_refused(form):
    with pytest.raises(ValueError, match=r"one micro-batch, got 2: evaluate each by itself"):
        form([[1], [2]])


def test_window_without_target_is_refused():
    with pytest.raises(ValueError, match=r"a window needs a target to divide by, got n_b=\[0\]"):
        ignored_scored([[0]], 5)


def test_a_first_row_without_target_is_refused():
    with pytest.raises(ValueError, match=r"got n_b of the first row=\[0\]"):
        first_upstream([[0, 2]])

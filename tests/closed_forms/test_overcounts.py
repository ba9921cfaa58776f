"""Forms whose denominator counts more than the targets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.aggregation import token_mean
from closed_forms.overcounts import counted_before_shift, padding_scored
from tests.closed_forms import strategies
from tests.closed_forms.compare import assert_other_weights, assert_weights, total


def rows(window):
    return [n for micro_batch in window for n in micro_batch]


def test_first_labels_enter_the_denominator():
    assert_weights([[1 / 9], [1 / 9, 1 / 9], [1 / 9, 1 / 9, 1 / 9]], counted_before_shift([[1, 2], [3]]))


def test_padding_enters_the_denominator():
    assert_weights([[1 / 6], [], [1 / 6, 1 / 6, 1 / 6]], padding_scored([[1, 0], [3]], 2))


@given(strategies.windows)
def test_no_padding_is_clean(window):
    assert_weights(token_mean(window), padding_scored(window, 0))


@given(strategies.windows)
def test_a_first_label_weighs_like_padding(window):
    assert_weights(padding_scored(window, len(rows(window))), counted_before_shift(window))


@given(strategies.windows, st.integers(1, 100))
def test_targets_lose_what_padding_takes(window, padding):
    n = sum(rows(window))

    assert total(padding_scored(window, padding)) == pytest.approx(n / (n + padding), rel=1e-12)


@given(strategies.windows, st.integers(1, 100))
def test_scored_padding_shows(window, padding):
    assert_other_weights(token_mean(window), padding_scored(window, padding))


@given(strategies.windows)
def test_counted_first_labels_show(window):
    assert_other_weights(token_mean(window), counted_before_shift(window))


@given(strategies.windows)
def test_weights_are_float64(window):
    weights = counted_before_shift(window) + padding_scored(window, 1)

    assert {row.dtype for row in weights} == {np.dtype(np.float64)}


@pytest.mark.parametrize("padding", [-1, 1.5, True, None], ids=str)
def test_padding_must_be_a_count(padding):
    with pytest.raises(ValueError, match=r"^counts are whole numbers of at least 0 in a list, got padding=\["):
        padding_scored([[1]], padding)


@pytest.mark.parametrize(
    "form", [counted_before_shift, lambda window: padding_scored(window, 1)], ids=["before shift", "padding"]
)
def test_window_without_target_is_refused(form):
    with pytest.raises(ValueError, match=r"a window needs a target to divide by, got n_b=\[0, 0\]"):
        form([[0], [0]])

"""Weights under label smoothing, on windows that can be worked out by hand."""

import pytest

from closed_forms import smoothed
from tests.closed_forms.compare import assert_weights

WINDOW = [[1, 3], [2]]


def test_every_target_keeps_its_own_share_of_the_mean():
    assert_weights([[1 / 8], [1 / 8] * 3, [1 / 8] * 2], smoothed.smoothed(WINDOW, 0.25))


def test_micro_batches_are_averaged_and_added_up():
    assert_weights([[3 / 16], [3 / 16] * 3, [3 / 8] * 2], smoothed.smoothed_by_micro_batch(WINDOW, 0.25))


def test_a_sum_divides_by_nothing():
    assert_weights([[3 / 4], [3 / 4] * 3, [3 / 4] * 2], smoothed.smoothed_sum(WINDOW, 0.25))


def test_positions_are_rows_times_the_longest():
    assert_weights([[1 / 8], [1 / 8] * 3, [3 / 8] * 2], smoothed.smoothed_over_positions(WINDOW, 0.25))


@pytest.mark.parametrize(
    "form",
    [
        smoothed.smoothed,
        smoothed.smoothed_by_micro_batch,
        smoothed.smoothed_sum,
        smoothed.smoothed_over_positions,
    ],
)
def test_a_share_above_one_is_refused(form):
    with pytest.raises(ValueError, match=r"epsilon"):
        form(WINDOW, 1.5)

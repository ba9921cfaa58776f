"""Each form on counts small enough to redo by hand."""

import doctest

from closed_forms import aggregation, overcounts
from closed_forms.aggregation import (
    divided_twice,
    mean_of_micro_batch_means,
    per_rank_mean,
    per_rank_mean_of_micro_batch_means,
    per_sequence_mean,
    per_sequence_mean_of_all,
    scaled,
    short_window,
    sum_of_micro_batch_means,
    targets_dropped,
    token_mean,
    token_sum,
    weighted_by_rows,
)
from closed_forms.counted_samples import carried_over, first_micro_batches_only, last_micro_batch_only, repeated_samples
from tests.closed_forms.compare import assert_weights


def test_token_mean_divides_by_all_targets():
    assert_weights([[1 / 6], [1 / 6, 1 / 6], [1 / 6, 1 / 6, 1 / 6]], token_mean([[1, 2], [3]]))


def test_mean_of_means_favours_short_micro_batches():
    assert_weights([[1 / 2], [1 / 6, 1 / 6, 1 / 6]], mean_of_micro_batch_means([[1], [3]]))


def test_mean_of_means_counts_all_rows_of_a_micro_batch():
    assert_weights([[1 / 6], [1 / 6, 1 / 6], [1 / 4, 1 / 4]], mean_of_micro_batch_means([[1, 2], [2]]))


def test_sum_of_means_lacks_the_division():
    assert_weights([[1 / 3], [1 / 3, 1 / 3], [1 / 2, 1 / 2]], sum_of_micro_batch_means([[1, 2], [2]]))


def test_per_rank_mean_favours_short_ranks():
    ranks = [[[1], [1]], [[2, 1]]]

    assert_weights([[1 / 4], [1 / 4], [1 / 6, 1 / 6], [1 / 6]], per_rank_mean(ranks))


def test_per_rank_mean_of_means_favours_both():
    ranks = [[[1], [2]], [[2, 1]]]

    assert_weights([[1 / 4], [1 / 8, 1 / 8], [1 / 6, 1 / 6], [1 / 6]], per_rank_mean_of_micro_batch_means(ranks))


def test_a_row_that_teaches_nothing_is_counted_in_the_mean_over_all_rows():
    assert_weights([[1 / 3], [], [1 / 6, 1 / 6]], per_sequence_mean_of_all([[1, 0], [2]]))


def test_per_sequence_mean_favours_short_rows():
    assert_weights([[1 / 3], [1 / 6, 1 / 6], [1 / 9, 1 / 9, 1 / 9]], per_sequence_mean([[1, 2], [3]]))


def test_token_sum_divides_by_nothing():
    assert_weights([[1], [1, 1]], token_sum([[1], [2]]))


def test_later_micro_batches_are_lost():
    window = [[1], [2], [1]]

    assert_weights([[1 / 4], [1 / 4, 1 / 4], [0]], first_micro_batches_only(window, 2))


def test_earlier_micro_batches_are_overwritten():
    assert_weights([[0], [0, 0], [1 / 4]], last_micro_batch_only([[1, 2], [1]]))


def test_repeated_row_counts_in_the_denominator():
    window = [[1, 2], [3]]

    assert_weights([[3 / 5], [1 / 5, 1 / 5], [0, 0, 0]], repeated_samples(window, [3, 1, 0]))


def test_short_window_is_divided_by_the_configured_number():
    assert_weights([[1 / 4], [1 / 12, 1 / 12, 1 / 12]], short_window([[1], [3]], 4))


def test_gradient_of_earlier_steps_stays():
    assert_weights([[1], [1 / 3], [1 / 3, 1 / 3]], carried_over([[[1]], [[1], [2]]]))


def test_micro_batch_means_are_weighted_by_rows():
    assert_weights([[2 / 9], [2 / 9, 2 / 9], [1 / 12] * 4], weighted_by_rows([[1, 2], [4]]))


def test_divided_twice_is_too_small_by_micro_batches():
    assert_weights([[1 / 9], [1 / 9], [1 / 9]], divided_twice([[1], [1], [1]]))


def test_scaled_multiplies_every_weight():
    weights = [[1, 1 / 2], []]

    assert_weights([[3 / 2, 3 / 4], []], scaled(weights, 3 / 2))


def test_dropped_targets_leave_the_denominator():
    dropped = [[False, True], [True], [False]]

    assert_weights([[1 / 2, 0], [0], [1 / 2]], targets_dropped([[2, 1], [1]], dropped))


def test_row_without_targets_keeps_its_place():
    assert_weights([[], [1 / 2, 1 / 2], []], token_mean([[0, 2], [0]]))


def test_numbers_in_the_docstring_are_right():
    assert doctest.testmod(aggregation) == (0, 2)
    assert doctest.testmod(overcounts) == (0, 1)

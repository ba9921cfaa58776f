"""Counts on which a fault must show."""

from hypothesis import given
from hypothesis import strategies as st

from closed_forms.aggregation import (
    divided_twice,
    mean_of_micro_batch_means,
    per_rank_mean,
    per_rank_mean_of_micro_batch_means,
    per_sequence_mean,
    scaled,
    short_window,
    sum_of_micro_batch_means,
    targets_dropped,
    token_mean,
    token_sum,
    weighted_by_rows,
)
from closed_forms.counted_samples import carried_over, first_micro_batches_only, last_micro_batch_only, repeated_samples
from tests.closed_forms import strategies
from tests.closed_forms.compare import assert_other_weights


def joined(ranks):
    return [micro_batch for window in ranks for micro_batch in window]


def rows(window):
    return [n for micro_batch in window for n in micro_batch]


@given(strategies.heavy_first_windows)
def test_uneven_micro_batches_show_mean_of_means(window):
    assert_other_weights(token_mean(window), mean_of_micro_batch_means(window))


@given(strategies.several_micro_batches)
def test_any_accumulation_shows_sum_of_means(window):
    assert_other_weights(token_mean(window), sum_of_micro_batch_means(window))


@given(strategies.heavy_first_ranks)
def test_uneven_ranks_show_per_rank_mean(ranks):
    assert_other_weights(token_mean(joined(ranks)), per_rank_mean(ranks))


@given(strategies.heavy_first_windows)
def test_uneven_micro_batches_show_per_rank_mean_of_means(window):
    ranks = [window, window]

    assert_other_weights(per_rank_mean(ranks), per_rank_mean_of_micro_batch_means(ranks))


@given(strategies.long_row_windows)
def test_uneven_rows_show_per_sequence_mean(window):
    assert_other_weights(token_mean(window), per_sequence_mean(window))


@given(strategies.several_micro_batches)
def test_several_targets_show_a_sum(window):
    assert_other_weights(token_mean(window), token_sum(window))


@given(strategies.several_micro_batches)
def test_lost_micro_batches_show(window):
    assert_other_weights(token_mean(window), first_micro_batches_only(window, len(window) - 1))


@given(strategies.several_micro_batches)
def test_overwritten_micro_batches_show(window):
    assert_other_weights(token_mean(window), last_micro_batch_only(window))


@given(strategies.long_row_windows)
def test_one_repeated_row_shows(window):
    times = [1] * (len(rows(window)) - 1) + [2]

    assert_other_weights(token_mean(window), repeated_samples(window, times))


@given(strategies.windows, st.integers(1, 4))
def test_short_window_shows(window, missing):
    assert_other_weights(mean_of_micro_batch_means(window), short_window(window, len(window) + missing))


@given(strategies.windows)
def test_carried_step_shows(window):
    before = [[1]]

    assert sum(map(sum, carried_over([before, window]))) > 1.99 * sum(map(sum, carried_over([window])))


@given(strategies.lone_row_windows)
def test_uneven_rows_show_weighting_by_rows(window):
    assert_other_weights(token_mean(window), weighted_by_rows(window))


@given(strategies.crowded_first_windows)
def test_uneven_crowds_tell_weighting_from_mean_of_means(window):
    assert_other_weights(mean_of_micro_batch_means(window), weighted_by_rows(window))


@given(strategies.several_micro_batches)
def test_second_division_shows(window):
    assert_other_weights(token_mean(window), divided_twice(window))


@given(strategies.windows, st.floats(1.01, 100))
def test_factor_shows(window, factor):
    assert_other_weights(token_mean(window), scaled(token_mean(window), factor))


@given(strategies.long_row_windows)
def test_one_dropped_target_shows(window):
    dropped = [[False] * n for n in rows(window)]
    dropped[-1][0] = True

    assert_other_weights(token_mean(window), targets_dropped(window, dropped))

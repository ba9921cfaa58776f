"""Counts on which two forms must agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.aggregation import (
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
from tests.closed_forms import strategies
from tests.closed_forms.compare import assert_weights
from tests.closed_forms.forms import BY_MICRO_BATCH, BY_WINDOW


def joined(ranks):
    return [micro_batch for window in ranks for micro_batch in window]


def rows(window):
    return [n for micro_batch in window for n in micro_batch]


@pytest.mark.parametrize("name", [name for name in BY_WINDOW | BY_MICRO_BATCH if name != "short_window"])
@given(window=strategies.single_micro_batches)
def test_one_micro_batch_hides_every_fault(name, window):
    assert_weights(token_mean(window), (BY_WINDOW | BY_MICRO_BATCH)[name](window))


@given(strategies.level_windows)
def test_level_micro_batches_hide_mean_of_means(window):
    assert_weights(token_mean(window), mean_of_micro_batch_means(window))


@given(strategies.windows)
def test_sum_of_means_is_m_times_the_mean_of_means(window):
    assert_weights(scaled(mean_of_micro_batch_means(window), len(window)), sum_of_micro_batch_means(window))


@given(strategies.level_ranks)
def test_level_ranks_hide_per_rank_mean(ranks):
    assert_weights(token_mean(joined(ranks)), per_rank_mean(ranks))


@given(strategies.windows)
def test_one_rank_is_a_plain_window(window):
    assert_weights(token_mean(window), per_rank_mean([window]))


@given(strategies.windows)
def test_one_rank_of_means_is_a_plain_window_of_means(window):
    assert_weights(mean_of_micro_batch_means(window), per_rank_mean_of_micro_batch_means([window]))


@given(strategies.windows)
def test_ranks_of_one_micro_batch_are_micro_batches(window):
    ranks = [[micro_batch] for micro_batch in window]

    assert_weights(mean_of_micro_batch_means(window), per_rank_mean(ranks))


@given(strategies.ranks)
def test_carried_steps_are_ranks_that_nobody_averages(ranks):
    assert_weights(scaled(per_rank_mean(ranks), len(ranks)), carried_over(ranks))


@given(strategies.equal_row_windows)
def test_equal_rows_hide_per_sequence_mean(window):
    assert_weights(token_mean(window), per_sequence_mean(window))


@given(strategies.full_windows)
def test_without_an_empty_row_all_rows_are_those_with_a_target(window):
    assert_weights(per_sequence_mean(window), per_sequence_mean_of_all(window))


@given(strategies.equal_row_windows)
def test_equal_rows_hide_weighting_by_rows(window):
    assert_weights(token_mean(window), weighted_by_rows(window))


@given(strategies.full_windows)
def test_micro_batches_of_one_row_are_sequences(window):
    lone = [[n] for n in rows(window)]

    assert_weights(per_sequence_mean(window), mean_of_micro_batch_means(lone))


@given(strategies.equally_crowded_windows)
def test_equally_many_rows_make_weighting_a_mean_of_means(window):
    assert_weights(mean_of_micro_batch_means(window), weighted_by_rows(window))


@given(strategies.windows)
def test_token_mean_is_the_sum_over_the_count(window):
    assert_weights(scaled(token_sum(window), 1 / sum(rows(window))), token_mean(window))


@given(strategies.windows)
def test_keeping_every_micro_batch_is_clean(window):
    assert_weights(token_mean(window), first_micro_batches_only(window, len(window)))


@given(strategies.several_micro_batches)
def test_first_and_last_share_the_window(window):
    kept = first_micro_batches_only(window, len(window) - 1)
    last = last_micro_batch_only(window)

    assert_weights(token_mean(window), [early + late for early, late in zip(kept, last, strict=True)])


@given(strategies.windows, st.integers(1, 4))
def test_all_rows_counted_equally_often_is_clean(window, times):
    assert_weights(token_mean(window), repeated_samples(window, [times] * len(rows(window))))


@given(strategies.windows)
def test_repeated_row_weighs_like_two_copies(window):
    twice = repeated_samples(window, [2] + [1] * (len(rows(window)) - 1))
    copies = token_mean([[window[0][0]], *window])

    assert_weights([copies[0] + copies[1], *copies[2:]], twice)


@given(strategies.windows)
def test_full_window_is_a_mean_of_means(window):
    assert_weights(mean_of_micro_batch_means(window), short_window(window, len(window)))


@given(strategies.windows)
def test_no_target_dropped_is_clean(window):
    assert_weights(token_mean(window), targets_dropped(window, [[False] * n for n in rows(window)]))


@given(strategies.full_windows)
def test_dropping_whole_rows_is_never_counting_them(window):
    dropped = [[False] * window[0][0]] + [[True] * n for n in rows(window)[1:]]
    times = [1] + [0] * (len(rows(window)) - 1)

    assert_weights(repeated_samples(window, times), targets_dropped(window, dropped))


@given(strategies.windows)
def test_factor_one_changes_nothing(window):
    assert_weights(token_mean(window), scaled(token_mean(window), 1))

"""What every form obeys: sums, signs, lengths, order, scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.aggregation import (
    per_rank_mean,
    per_rank_mean_of_micro_batch_means,
    scaled,
    short_window,
    targets_dropped,
    token_mean,
)
from closed_forms.counted_samples import carried_over, first_micro_batches_only, repeated_samples
from tests.closed_forms.compare import assert_weights, total
from tests.closed_forms.forms import ALL, BY_MICRO_BATCH, SUMS
from tests.closed_forms.strategies import full_windows, ranks, windows

every_form = pytest.mark.parametrize("name", ALL)
# They tell micro-batches apart by position.
UNORDERED = [name for name in ALL if name not in ("first_micro_batches_only", "last_micro_batch_only")]


@every_form
@given(window=full_windows)
def test_weights_sum_to_what_is_promised(name, window):
    assert total(ALL[name](window)) == pytest.approx(SUMS[name](window), rel=1e-12)


@every_form
@given(window=full_windows)
def test_no_weight_is_negative(name, window):
    assert np.concatenate(ALL[name](window)).min() >= 0


@every_form
@given(window=full_windows)
def test_every_row_keeps_its_length(name, window):
    lengths = [n for micro_batch in window for n in micro_batch]

    assert [row.shape for row in ALL[name](window)] == [(n,) for n in lengths]


@every_form
@given(window=full_windows)
def test_weights_are_float64(name, window):
    assert {row.dtype for row in ALL[name](window)} == {np.dtype(np.float64)}


@every_form
def test_counts_may_be_numpy_integers(name):
    window = [np.array([1, 2], dtype=np.int32), np.array([3], dtype=np.uint8)]

    assert_weights(ALL[name]([[1, 2], [3]]), ALL[name](window))


@every_form
@given(window=full_windows)
def test_reversed_rows_give_reversed_weights(name, window):
    weights = ALL[name]([window[0][::-1], *window[1:]])

    size = len(window[0])
    assert_weights(ALL[name](window), weights[:size][::-1] + weights[size:])


@pytest.mark.parametrize("name", UNORDERED)
@given(window=full_windows)
def test_rotated_micro_batches_give_rotated_weights(name, window):
    weights = ALL[name]([*window[1:], window[0]])

    size = len(window[0])
    assert_weights(ALL[name](window), weights[-size:] + weights[:-size])


@given(ranks)
def test_rank_weights_sum_to_one(drawn):
    assert total(per_rank_mean(drawn)) == pytest.approx(1, rel=1e-12)


@given(ranks)
def test_rank_weights_of_means_sum_to_one(drawn):
    assert total(per_rank_mean_of_micro_batch_means(drawn)) == pytest.approx(1, rel=1e-12)


@given(ranks)
def test_rotated_ranks_give_rotated_weights(drawn):
    weights = per_rank_mean([*drawn[1:], drawn[0]])

    size = sum(map(len, drawn[0]))
    assert_weights(per_rank_mean(drawn), weights[-size:] + weights[:-size])


@given(ranks)
def test_carried_over_weights_sum_to_the_steps(drawn):
    assert total(carried_over(drawn)) == pytest.approx(len(drawn), rel=1e-12)


@given(windows, st.integers(0, 5))
def test_short_window_sums_to_its_share(window, missing):
    accumulation = len(window) + missing

    assert total(short_window(window, accumulation)) == pytest.approx(len(window) / accumulation, rel=1e-12)


@given(windows, st.data())
def test_kept_micro_batches_sum_to_their_share(window, data):
    kept = data.draw(st.integers(1, len(window)))

    share = sum(map(sum, window[:kept])) / sum(map(sum, window))
    assert total(first_micro_batches_only(window, kept)) == pytest.approx(share, rel=1e-12)


@given(full_windows, st.data())
def test_repeated_rows_weigh_as_often_as_counted(window, data):
    rows = sum(map(len, window))
    times = data.draw(st.lists(st.integers(1, 4), min_size=rows, max_size=rows))

    first = [row[0] for row in repeated_samples(window, times)]
    np.testing.assert_allclose(np.divide(first, first[0]), np.divide(times, times[0]), rtol=1e-12)


@given(full_windows, st.data())
def test_dropped_targets_weigh_zero_and_no_other(window, data):
    lengths = [n for micro_batch in window for n in micro_batch]
    marks = [data.draw(st.lists(st.booleans(), min_size=n, max_size=n)) for n in lengths]
    marks[0][0] = False

    assert [(row == 0).tolist() for row in targets_dropped(window, marks)] == marks


@given(windows, st.floats(-100, 100, allow_subnormal=False))
def test_scaling_scales_the_sum(window, factor):
    assert total(scaled(token_mean(window), factor)) == pytest.approx(factor, rel=1e-12)


def test_scaled_whole_numbers_become_float64():
    [row] = scaled([np.array([1, 2])], 3)

    assert (row.dtype, row.tolist()) == (np.float64, [3.0, 6.0])


@pytest.mark.parametrize("name", BY_MICRO_BATCH)
@given(window=windows)
def test_row_without_targets_is_allowed_in_a_micro_batch(name, window):
    lengths = [n for micro_batch in window for n in micro_batch]

    assert [len(row) for row in ALL[name](window)] == lengths

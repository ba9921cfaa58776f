"""Wrong steps differ from right ones, and each by its own number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import wrong_steps as w

NAMES = ["q.lora_A", "q.lora_B", "modules_to_save.head", "norm"]


def test_a_right_step_reaches_each_parameter_in_each_micro_batch():
    np.testing.assert_array_equal(w.every_gradient(NAMES, 2)[0], np.ones(8))


def test_only_adapters_and_only_saved_modules_are_apart():
    np.testing.assert_array_equal(w.only_adapters(NAMES, 2)[0], [1, 1, 1, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(w.only_saved_modules(NAMES, 1)[0], [0, 0, 1, 0])


def test_what_trains_is_told_for_each_micro_batch():
    np.testing.assert_array_equal(w.only_what_trains([True, False], 2)[0], [1, 1, 0, 0])


def test_a_window_needs_a_micro_batch():
    with pytest.raises(ValueError, match="micro_batches=0"):
        w.every_gradient(NAMES, 0)


@given(st.integers(2, 5))
def test_what_is_lost_are_the_micro_batches_before_the_last(m):
    lost = w.whole_sum(m)[0] - w.last_of_sum(m)[0]

    np.testing.assert_array_equal(lost, [0] + [1] * (m - 1) + [0])


@given(st.integers(1, 5))
def test_first_and_last_alone_are_the_sum_of_two(m):
    first, last = w.first_of_sum(m)[0], w.last_of_sum(m)[0]

    np.testing.assert_array_equal(np.maximum(first, last), [0, 1, *[0] * (m - 2), 1][: m + 1])


def test_clips_by_hand():
    norms, flat = [3.0, 4.0, 12.0], [False, False, True]

    np.testing.assert_allclose(w.clipped(norms, 1.3, 2.0)[0], [0.05] * 3, rtol=1e-6)
    np.testing.assert_allclose(w.clipped_before_unscaling(norms, 1.3, 2.0)[0], [0.025] * 3, rtol=1e-6)
    np.testing.assert_allclose(w.unscaled_by_next_scale(norms, 1.3, 2.0)[0], [0.05] * 3, rtol=1e-6)
    np.testing.assert_allclose(w.unscaled_by_next_scale(norms, 13.0, 2.0)[0], [0.25] * 3)
    np.testing.assert_allclose(w.not_clipped(norms, 2.0)[0], [0.5] * 3)
    np.testing.assert_allclose(w.clipped_by_kind(norms, 1.0, 1.0, flat)[0], [1 / 5, 1 / 5, 1 / 12], rtol=1e-6)


def test_groups_and_decay_by_hand():
    np.testing.assert_array_equal(w.in_one_group([True, False])[0], [1, 1])
    np.testing.assert_array_equal(w.second_group_missing([True, False])[0], [0, 1])
    np.testing.assert_array_equal(w.decay_of_matrices([True, False], 0.1)[0], [0, 0.1])
    np.testing.assert_array_equal(w.decay_of_all([True, False], 0.1)[0], [0.1, 0.1])
    np.testing.assert_array_equal(w.decay_of_flat([True, False], 0.1)[0], [0.1, 0])


def test_steps_by_hand():
    assert (1.0, 2.0) == (w.one_step(), w.two_steps())


@given(st.integers(0, 5), st.integers(2, 4))
def test_a_schedule_of_micro_batches_is_ahead(number, m):
    assert w.linear_rate_of_micro_batches(0.1, number, 12, m) < w.linear_rate(0.1, number, 12)


def test_rates_by_hand():
    assert w.linear_rate(0.1, 1, 8) == pytest.approx(0.1 * 7 / 8)
    assert w.linear_rate(0.1, 9, 8) == 0
    assert w.linear_rate_of_micro_batches(0.1, 1, 8, 2) == pytest.approx(0.1 * 5 / 8)
    assert w.linear_rate_of_micro_batches(0.1, 4, 8, 2) == 0


@given(own=st.integers(1, 4), ranks=st.integers(1, 4))
def test_what_ranks_keep_for_themselves_is_in_their_mean_once(own, ranks):
    m = own * ranks
    kept = [np.roll(w.own_of_rank(m, ranks)[0][1:], r * own) for r in range(ranks)]

    np.testing.assert_allclose(np.mean(kept, 0), w.whole_sum(m)[0][1:])
    np.testing.assert_allclose(w.summed_over_ranks(m, ranks)[0] / ranks, w.whole_sum(m)[0])
    assert w.own_of_rank(m, ranks)[0][0] == 0


@pytest.mark.parametrize("form", [w.own_of_rank, w.summed_over_ranks])
def test_ranks_share_their_micro_batches_evenly(form):
    with pytest.raises(ValueError, match="micro_batches=3 are not as many on each of ranks=2"):
        form(3, 2)

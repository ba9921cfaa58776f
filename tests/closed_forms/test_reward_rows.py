"""The reward enters at one token of its row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.reward import bradley_terry
from closed_forms.reward_rows import (
    rewards_at_the_end,
    rewards_before_the_end,
    rewards_beyond_every_margin,
    rewards_beyond_margins,
)
from tests.closed_forms.compare import assert_weights

rows = st.lists(st.floats(-3, 3), min_size=2, max_size=5)
batches = st.lists(st.integers(1, 2).flatmap(lambda p: st.lists(rows, min_size=2 * p, max_size=2 * p)), min_size=1)


def test_equal_rewards_share_the_pair():
    assert_weights([[0, 0, 0.5], [0, -0.5]], rewards_at_the_end([[[9, 9, 1], [9, 1]]]))
    assert_weights([[0, 0.25, 0], [-0.25, 0]], rewards_before_the_end([[[9, 1, 9], [1, 9]]] * 2)[:2])


@given(batches)
def test_the_place_is_the_only_difference(batch):
    turned = [[[*row[:-2], row[-1], row[-2]] for row in rows] for rows in batch]
    for end, before in zip(rewards_at_the_end(batch), rewards_before_the_end(turned)):
        np.testing.assert_array_equal(end[-1], before[-2])
        assert not end[:-1].any()
        assert not before[-1]


@given(batches)
def test_each_micro_batch_is_a_kth_of_its_own_loss(batch):
    found = iter(rewards_at_the_end(batch))
    for rows in batch:
        ends = [row[-1] for row in rows]
        half = len(rows) // 2
        expected = np.concatenate(bradley_terry(ends[:half], ends[half:])) / len(batch)
        np.testing.assert_allclose([next(found)[-1] for _ in rows], expected, rtol=1e-12)


def test_a_margin_of_as_much_as_the_rewards_lie_apart_shares_its_own_pair():
    # log 3 more: sigma = 3/4; the two pairs lie 0 and log 3 apart
    log3 = np.log(3)
    batch = [[[9, 0], [9, log3], [9, 0], [9, 0]]]
    assert_weights([[0, 3 / 8], [0, 1 / 4], [0, -3 / 8], [0, -1 / 4]], rewards_beyond_margins(batch, [[log3, log3]]))
    # margins 0 and log 3 at both: (1/2 + 3/4) / 2 of the first, (1/4 + 1/2) / 2 of the second
    every = rewards_beyond_every_margin(batch, [[0, log3]])
    assert_weights([[0, 5 / 16], [0, 3 / 16], [0, -5 / 16], [0, -3 / 16]], every)


@given(batches, st.floats(-2, 2))
def test_one_margin_for_all_is_every_pairs_own(batch, margin):
    margins = [[margin] * (len(rows) // 2) for rows in batch]
    for own, every in zip(rewards_beyond_margins(batch, margins), rewards_beyond_every_margin(batch, margins)):
        np.testing.assert_allclose(own, every, rtol=1e-12)


@given(batches)
def test_no_margin_is_a_margin_of_zero(batch):
    none = [[0.0] * (len(rows) // 2) for rows in batch]
    for plain, beyond in zip(rewards_at_the_end(batch), rewards_beyond_margins(batch, none)):
        np.testing.assert_array_equal(plain, beyond)


def test_margins_of_another_number_are_refused():
    with pytest.raises(ValueError, match=r"1 pairs, but margins of shape \[2\]: give one for each pair"):
        rewards_beyond_margins([[[1, 2], [3, 4]]], [[0, 1]])


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [[1.0], [1.0, 2.0]]])
def test_rows_that_are_no_pairs_or_too_short_are_refused(rows):
    with pytest.raises(ValueError, match=r"give the chosen rows and as many rejected, each of at least 2 tokens"):
        rewards_before_the_end([rows])

"""The windows of GRPO and RLOO, as they are and under faults, on rows that can be worked out by hand."""

import numpy as np
import pytest

from closed_forms import completions, drifted_rollouts, rollouts
from tests.closed_forms.rows import assert_rows

MASKS = [[[0, 1, 1], [1]], [[1, 1, 1, 1], [0, 1]]]
ADVANTAGE = [[1, -2], [3, 0]]


def test_completions_divide_by_their_own_tokens():
    expected = [[0, 1 / 8, 1 / 8], [-2 / 4], [3 / 16] * 4, [0, 0]]

    assert_rows(rollouts.by_completions(MASKS, ADVANTAGE), expected)
    assert_rows(drifted_rollouts.of_current_policy(MASKS, ADVANTAGE), expected)


def test_a_completion_without_a_scored_token_weighs_nothing():
    assert_rows(rollouts.by_completions([[[0, 0], [1]]], [[5, 1]]), [[0, 0], [1 / 2]])


def test_sequences_divide_by_their_number():
    expected = [[0, 1 / 4, 1 / 4], [-2 / 4], [3 / 4] * 4, [0, 0]]

    assert_rows(rollouts.by_sequences(MASKS, ADVANTAGE), expected)
    assert_rows(rollouts.by_sequences_of_normalized(MASKS, ADVANTAGE), expected)


def test_a_window_is_divided_again_by_its_micro_batches():
    whole = completions.by_window(MASKS, ADVANTAGE)

    assert_rows(rollouts.by_window_divided_again(MASKS, ADVANTAGE), [row / 2 for row in whole])
    assert_rows(completions.by_window_of_neighbours(MASKS, ADVANTAGE), whole)
    assert_rows(rollouts.by_window_of_shifted(MASKS, ADVANTAGE), whole)
    assert_rows(rollouts.by_window_of_zeros(MASKS, ADVANTAGE), whole)


def test_slots_divide_by_one_length_and_widths_by_that_of_the_micro_batch():
    expected = [[0, 1 / 40, 1 / 40], [-2 / 40], [3 / 40] * 4, [0, 0]]

    assert_rows(rollouts.by_slots(MASKS, ADVANTAGE, 10), expected)
    assert_rows(rollouts.by_slots_of_scaled(MASKS, ADVANTAGE, 10), expected)
    expected = [[0, 1 / 8, 1 / 8], [-2 / 8], [3 / 16] * 4, [0, 0]]
    assert_rows(rollouts.by_widths(MASKS, ADVANTAGE, [2, 4]), expected)


def test_a_cap_below_one_scales_and_one_above_does_nothing():
    whole = completions.by_window(MASKS, ADVANTAGE)

    assert_rows(rollouts.by_window_capped(MASKS, ADVANTAGE, 0.5), [row / 2 for row in whole])
    assert_rows(rollouts.by_window_capped_above_one(MASKS, ADVANTAGE, 0.5), whole)


def test_a_ratio_scales_its_token_until_it_is_clipped():
    ratios = [[[0, np.log(1.1), np.log(1.3)], [np.log(0.7)]], [[0, 0, 0, 0], [0, 0]]]

    found = drifted_rollouts.clipped_completions(MASKS, ADVANTAGE, ratios, 0.2, 0.2)
    assert_rows(found, [[0, 1.1 / 8, 0], [0], [3 / 16] * 4, [0, 0]])


def test_the_penalty_pulls_back_by_the_drift():
    drifts = [[[9, 1, 0], [-1]], [[0, 0, 0, 0], [9, 2]]]

    found = drifted_rollouts.penalized(MASKS, ADVANTAGE, drifts, 0.5)
    assert_rows(found, [[0, 1 / 16, 1 / 8], [-1.5 / 8], [3 / 8] * 4, [0, -1 / 8]])
    found = drifted_rollouts.penalized_by_k3(MASKS, ADVANTAGE, drifts, 0.5)
    pull = [0.5 * (1 - np.exp(-u)) / 8 for u in (1, -1, 2)]
    assert_rows(found, [[0, 1 / 8 - pull[0], 1 / 8], [-2 / 8 - pull[1]], [3 / 8] * 4, [0, -pull[2]]])


def test_the_tokens_of_a_tool_weigh_like_the_others():
    drifts, whole = [[[1, 1, 1], [0]], [[0] * 4, [0, 0]]], [[[1, 1, 1], [1]], [[1] * 4, [0, 1]]]

    found = drifted_rollouts.penalized_with_tools(MASKS, ADVANTAGE, drifts, 0.5, whole)
    assert_rows(found, [[1 / 16] * 3, [-2 / 8], [3 / 8] * 4, [0, 0]])


def test_options_are_read_as_by_the_factors():
    with pytest.raises(ValueError, match="low"):
        drifted_rollouts.clipped_completions(MASKS, ADVANTAGE, [[[0], [0]], [[0], [0]]], 0, 0.2)

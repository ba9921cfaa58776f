"""Windows of GRPO with a wrong baseline, penalty or clipping, on rows that can be worked out by hand."""

import numpy as np

from closed_forms import completions, judged_rollouts, penalties
from tests.closed_forms.rows import assert_rows

MASKS = [[[0, 1, 1], [1]], [[1, 1, 1, 1], [0, 1]]]
ADVANTAGE = [[1, -2], [3, 0]]
DRIFTS = [[[5, 1, 2], [0]], [[0, 0, 1, -1], [7, 4]]]


def test_whoever_is_judged_is_averaged_over_the_window():
    right = completions.by_window(MASKS, ADVANTAGE)

    assert_rows(judged_rollouts.by_window_of_batch_mean(MASKS, ADVANTAGE), right)
    assert_rows(judged_rollouts.by_window_of_population(MASKS, ADVANTAGE), right)


def test_a_penalty_that_is_paid_adds_what_it_should_take():
    # N = 8; w = m (A + 2 u) / 8
    expected = [[0, 3 / 8, 5 / 8], [-2 / 8], [3 / 8, 3 / 8, 5 / 8, 1 / 8], [0, 1]]

    assert_rows(penalties.penalty_rewarded(MASKS, ADVANTAGE, DRIFTS, 2), expected)


def test_tools_are_penalized_beside_the_rest():
    whole = [[[1, 1, 1], [1]], [[1, 1, 1, 1], [0, 1]]]
    # w = (m A - 2 u) / 8 at every token of a completion
    expected = [[-10 / 8, -1 / 8, -3 / 8], [-2 / 8], [3 / 8, 3 / 8, 1 / 8, 5 / 8], [0, -1]]

    assert_rows(penalties.penalty_at_tools(MASKS, ADVANTAGE, DRIFTS, 2, whole), expected)


def test_the_inverse_ratio_pulls_as_its_own_estimate_does():
    drifts = [[[5, np.log(2), 0], [0]], [[0, 0, 0, np.log(3)], [7, np.log(2)]]]
    # 2 e^u - u - 2: 0 at u = 0
    at_two, at_three = 2 * (2 - np.log(2)) / 8, 2 * (4 - np.log(3)) / 8
    expected = [[0, 1 / 8 - at_two, 1 / 8], [-2 / 8], [3 / 8, 3 / 8, 3 / 8, 3 / 8 - at_three], [0, -at_two]]

    assert_rows(penalties.penalty_of_inverse_ratio(MASKS, ADVANTAGE, drifts, 2), expected)


def test_a_ratio_above_the_limit_is_clipped_whatever_the_advantage():
    half, double = -np.log(2), np.log(2)
    ratios = [[[0, half, double], [double]], [[0, half, double, np.log(1.1)], [0, 0]]]
    # Shares of the completions: 1/8, 1/4 and 1/16, and 1/4.
    expected = [[0, 1 / 16, 0], [0], [3 / 16, 3 / 32, 0, 3.3 / 16], [0, 0]]

    assert_rows(penalties.clipped_before_product(MASKS, ADVANTAGE, ratios, 0.2), expected)
    at_the_limit = [[[0, 0, 0], [0]], [[0, 0, 0, 0], [0, 0]]]
    unclipped = penalties.clipped_before_product(MASKS, ADVANTAGE, at_the_limit, 0.0)
    assert_rows(unclipped, [[0, 1 / 8, 1 / 8], [-1 / 2], [3 / 16] * 4, [0, 0]])

"""The windows of DPO and KTO, as they are and under faults, on rows that can be worked out by hand."""

import numpy as np

from closed_forms import completions, pair_rows
from tests.closed_forms.rows import assert_rows

# Two micro-batches of one pair: three chosen tokens and one rejected, then two and one.
MASKS = [[[0, 1, 1, 1], [1]], [[1, 1], [0, 1]]]
EVEN = [([0.0], [0.0]), ([0.0], [0.0])]
APART = [([np.log(3)], [0.0]), ([0.0], [0.0])]


def test_pairs_at_the_reference_weigh_half_of_beta():
    expected = [[0, 1 / 2, 1 / 2, 1 / 2], [-1 / 2], [1 / 2, 1 / 2], [0, -1 / 2]]

    assert_rows(pair_rows.sigmoid_pairs(MASKS, EVEN, 2), expected)
    assert_rows(pair_rows.sigmoid_pairs_of_base(MASKS, EVEN, 2), expected)


def test_a_pair_that_is_told_apart_weighs_less():
    # sigma(-log 3) = 1/4
    expected = [[0, 1 / 8, 1 / 8, 1 / 8], [-1 / 8], [1 / 4, 1 / 4], [0, -1 / 4]]

    assert_rows(pair_rows.sigmoid_pairs(MASKS, APART, 1), expected)
    assert_rows(pair_rows.ipo_pairs_of_sigmoid(MASKS, APART, 1), expected)


def test_no_gradient_is_no_weight():
    assert_rows(pair_rows.no_pairs(MASKS), [[0] * 4, [0], [0, 0], [0, 0]])


def test_ipo_pulls_the_mean_margin_to_its_goal():
    scores = [([3.0], [0.5]), ([0.0], [0.0])]
    # goal 1 / (2 beta) = 1; margins 3/3 - 0.5 = 0.5 and 0; w = 2 (1 - margin) / L / K
    expected = [[0, 1 / 6, 1 / 6, 1 / 6], [-1 / 2], [1 / 2, 1 / 2], [0, -1]]

    assert_rows(pair_rows.ipo_pairs(MASKS, scores, 0.5), expected)
    found = pair_rows.ipo_pairs_over_configured(MASKS, scores, 0.5, 8)
    assert_rows(found, [np.array(row) / 4 for row in expected])


def test_answers_add_a_mean_over_the_chosen_tokens():
    found = pair_rows.pairs_with_answers(MASKS, EVEN, 2)
    assert_rows(found, [[0] + [1 / 2 + 1 / 6] * 3, [-1 / 2], [1 / 2 + 1 / 4] * 2, [0, -1 / 2]])
    found = pair_rows.pairs_with_answers_averaged_twice(MASKS, EVEN, 2)
    assert_rows(found, [[0] + [1 / 2 + 1 / 18] * 3, [-1 / 2], [1 / 2 + 1 / 8] * 2, [0, -1 / 2]])


def test_a_weight_of_the_answers_is_theirs_or_the_pairs():
    found = pair_rows.pairs_with_light_answers(MASKS, EVEN, 2, 0.5)
    assert_rows(found, [[0] + [1 / 2 + 1 / 12] * 3, [-1 / 2], [1 / 2 + 1 / 8] * 2, [0, -1 / 2]])
    found = pair_rows.light_pairs_with_answers(MASKS, EVEN, 2, 0.5)
    assert_rows(found, [[0] + [1 / 4 + 1 / 6] * 3, [-1 / 4], [1 / 4 + 1 / 4] * 2, [0, -1 / 4]])


def test_unpaired_rows_add_up_or_take_another_baseline():
    ratios, desirable = [[1, 0], [0.5, 2]], [[1, 0], [0, 1]]
    right = completions.kto_rows(MASKS, ratios, desirable, [0.5, 1], 1, 2, 3)

    found = pair_rows.kto_rows_added_up(MASKS, ratios, desirable, [0.5, 1], 1, 2, 3)
    assert_rows(found, [2 * row for row in right])
    assert_rows(pair_rows.kto_rows_of_window(MASKS, ratios, desirable, [0.5, 1], 1, 2, 3), right)


def test_simpo_compares_means_with_a_target():
    sums = [([-3.0], [-1.0]), ([-2.0], [-1.0])]
    # means -1 and -1, margin 0, target gamma = log 3: sigma(log 3) = 3/4, w = beta 3/4 / L / K
    expected = [[0, 1 / 8, 1 / 8, 1 / 8], [-3 / 8], [3 / 16, 3 / 16], [0, -3 / 8]]

    found = pair_rows.simpo_pairs(MASKS, sums, 1, np.log(3))
    assert_rows(found, expected)
    found = pair_rows.simpo_pairs_with_answers(MASKS, sums, 1, np.log(3))
    assert_rows(found, [[0] + [1 / 8 + 1 / 6] * 3, [-3 / 8], [3 / 16 + 1 / 4] * 2, [0, -3 / 8]])
    assert_rows(pair_rows.simpo_pairs_of_sums(MASKS, sums, 1), pair_rows.sigmoid_pairs(MASKS, sums, 1))

"""The windows of TRL's trainers, on rows that can be worked out by hand."""

import numpy as np
import pytest

from closed_forms import completions

MASKS = [[[0, 1, 1], [1]], [[1, 1, 1, 1], [0, 1]]]
ADVANTAGE = [[1, -2], [3, 0]]


def assert_rows(found, expected):
    assert [len(row) for row in expected] == [len(row) for row in found]
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(expected))


def test_a_window_divides_by_all_of_its_tokens():
    expected = [[0, 1 / 8, 1 / 8], [-2 / 8], [3 / 8] * 4, [0, 0]]

    assert_rows(completions.by_window(MASKS, ADVANTAGE), expected)
    assert_rows(completions.by_window_of_groups(MASKS, ADVANTAGE), expected)
    assert_rows(completions.by_window_of_neighbours(MASKS, ADVANTAGE), expected)


def test_micro_batches_divide_by_their_own_tokens():
    expected = [[0, 1 / 6, 1 / 6], [-2 / 6], [3 / 10] * 4, [0, 0]]

    assert_rows(completions.by_micro_batches(MASKS, ADVANTAGE), expected)


def test_all_generated_tokens_are_counted():
    assert_rows(
        completions.by_all_generated(MASKS, ADVANTAGE, 16), [[0, 1 / 16, 1 / 16], [-2 / 16], [3 / 16] * 4, [0, 0]]
    )


def test_pairs_at_the_reference_weigh_beta_over_two_and_the_micro_batches():
    scores = [([0.0], [0.0]), ([0.0], [0.0])]

    # (1 - eps + eps) / 2 / (1 - 2 eps), with eps = 1/4, is 1; beta = 1/2 and K = 2
    expected = [[0, 1 / 4, 1 / 4], [-1 / 4], [1 / 4] * 4, [0, -1 / 4]]
    assert_rows(completions.robust_pairs(MASKS, scores, 1 / 2, 1 / 4), expected)
    assert_rows(completions.robust_pairs_added_up(MASKS, scores, 1 / 2, 1 / 4), [2 * np.array(row) for row in expected])
    assert_rows(completions.pairs_without_smoothing(MASKS, scores, 1 / 2), [np.array(row) / 2 for row in expected])


def test_completions_at_their_baseline_weigh_a_quarter_of_beta():
    ratios, desirable, baselines = [[1, 1], [2, 2]], [[1, 0], [0, 1]], [1, 2]

    # beta / 4 / B / K with beta = 1/2 is 1/32
    found = completions.kto_rows(MASKS, ratios, desirable, baselines, 1 / 2, 2, 3)
    assert_rows(found, [[0, 2 / 32, 2 / 32], [-3 / 32], [-3 / 32] * 4, [0, 2 / 32]])
    found = completions.kto_rows_of_one_weight(MASKS, ratios, desirable, baselines, 1 / 2)
    assert_rows(found, [[0, 1 / 32, 1 / 32], [-1 / 32], [-1 / 32] * 4, [0, 1 / 32]])


def test_options_are_read_as_by_the_losses():
    with pytest.raises(ValueError, match="beta"):
        completions.robust_pairs(MASKS, [([0.0], [0.0])] * 2, 0, 1 / 4)

"""Windows of DPO whose pairs are scored wrongly, on rows that can be worked out by hand."""

import numpy as np
import pytest

from closed_forms import completions, pair_rows, pair_scores
from closed_forms._bfloat import bfloat16
from tests.closed_forms.rows import assert_rows

# Two micro-batches of one pair: padded to four targets and to two.
MASKS = [[[0, 1, 1, 1], [1]], [[1, 1], [0, 1]]]
SCORES = [([np.log(3)], [0.0]), ([0.0], [0.0])]


def test_a_mean_over_the_padded_width_divides_score_and_weight():
    scores = [([4 * np.log(3)], [0.0]), ([0.0], [2 * np.log(3)])]
    # Without smoothing: sigma(-log 3) = 1/4 over 4 K, and sigma(log 3) = 3/4 over 2 K.
    expected = [[0, 1 / 32, 1 / 32, 1 / 32], [-1 / 32], [3 / 16, 3 / 16], [0, -3 / 16]]

    assert_rows(pair_scores.robust_pairs_of_means(MASKS, scores, 1, 0), expected)


def test_without_a_reference_the_sums_are_the_scores():
    right = completions.robust_pairs(MASKS, SCORES, 2, 0.25)

    assert_rows(pair_scores.robust_pairs_without_reference(MASKS, SCORES, 2, 0.25), right)


def test_prompts_weigh_what_their_completion_does():
    expected = [[1 / 8] * 4, [-1 / 8], [1 / 4, 1 / 4], [-1 / 4, -1 / 4]]

    assert_rows(pair_scores.robust_pairs_with_prompts(MASKS, SCORES, 1, 0), expected)


def test_ipo_of_sums_pulls_the_sum_to_the_goal():
    scores = [([3.0], [0.5]), ([0.0], [0.0])]
    # goal 1 / (2 beta) = 1; margins 2.5 and 0; w = 2 (1 - margin) / K
    expected = [[0, -3 / 2, -3 / 2, -3 / 2], [3 / 2], [1, 1], [0, -1]]

    assert_rows(pair_scores.ipo_pairs_of_sums(MASKS, scores, 0.5), expected)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (0.0, 0.0),
        (1.0, 1.0),
        (-255.0, -255.0),
        # Eight bits: above 256 every second whole number, halves to even.
        (257.0, 256.0),
        (259.0, 260.0),
        (-259.5, -260.0),
        (1 + 2.0**-8, 1.0),
        (1 + 3 * 2.0**-8, 1 + 2.0**-6),
        # Nearest to float32 first, which is 257 here, and then to even.
        (257 + 2.0**-30, 256.0),
    ],
)
def test_bfloat16_keeps_eight_bits(value, rounded):
    assert bfloat16([value]).tolist() == [rounded]


def test_rounded_log_probabilities_are_scored_and_their_weights_rounded():
    policy = [[[9.0, 259.0, 0.0, 0.0], [257.0]], [[0.0, 0.0], [9.0, 0.0]]]
    reference = [[[0.0, 259.0, 0.0, 0.0], [257.0]], [[0.0, 0.0], [0.0, 0.0]]]
    both = pair_scores.sigmoid_pairs_in_bfloat16(MASKS, policy, reference, 1)
    exact = pair_scores.sigmoid_pairs_against_exact_reference(MASKS, policy, reference, 1)

    # 260 - 260 and 256 - 256 against 260 - 259 and 256 - 257.
    assert_rows(both, pair_rows.sigmoid_pairs(MASKS, [([0.0], [0.0]), ([0.0], [0.0])], 1))
    unrounded = pair_rows.sigmoid_pairs(MASKS, [([1.0], [-1.0]), ([0.0], [0.0])], 1)
    assert_rows(exact, [bfloat16(row) for row in unrounded])
    assert not np.array_equal(unrounded[1], exact[1])

"""Masks and multipliers of a policy step on rows small enough to redo by hand."""

import math

import numpy as np
import pytest
from hypothesis import given

from closed_forms.policy_masks import high_entropy, loss_mask, off_policy_rows, sampler_ratio
from tests.closed_forms.tokens import draw_log_p, draw_mask, row_numbers, seeds, widths

NAN = math.nan


def test_padding_tools_and_truncated_rows_are_not_scored():
    mask = loss_mask([[1, 1, 0], [1, 1, 1]], [[1, 0, 1], [1, 1, 1]], [0, 1])

    np.testing.assert_array_equal(mask, [[True, False, False], [False, False, False]])


def test_masks_of_two_shapes_are_refused():
    with pytest.raises(ValueError, match=r"^tool must have the shape of completion, got \(1, 1\) for \(1, 2\)$"):
        loss_mask([[1, 1]], [[1]], [0])


@pytest.mark.parametrize(("masks", "name"), [(([2], [[1]]), "completion"), (([[1]], [2]), "tool")])
def test_the_wrong_mask_is_named(masks, name):
    with pytest.raises(ValueError, match=rf"^{name} holds 0 or 1"):
        loss_mask(*masks, [0])


def test_every_row_is_truncated_or_not():
    with pytest.raises(ValueError, match=r"^truncated must have shape \[2\], got \[1\]"):
        loss_mask([[1], [1]], [[1], [1]], [0])


def test_the_upper_half_of_the_entropies_is_kept():
    kept = high_entropy([[1.0, 2.0, 9.0], [3.0, 4.0, NAN]], [[1, 1, 0], [1, 1, 0]], 1 / 2)

    np.testing.assert_array_equal(kept, [[False, False, False], [True, True, False]])


def test_the_quantile_belongs_to_the_kept():
    np.testing.assert_array_equal(high_entropy([[1.0, 2.0, 3.0]], [[1, 1, 1]], 1 / 2), [[False, True, True]])


def test_a_share_of_zero_keeps_the_highest():
    np.testing.assert_array_equal(high_entropy([[1.0, 3.0, 2.0]], [[1, 1, 1]], 0), [[False, True, False]])


@given(seeds, row_numbers, widths)
def test_a_share_of_one_keeps_all(seed, rows, width):
    rng = np.random.default_rng(seed)
    mask = draw_mask(rng, rows, width)

    np.testing.assert_array_equal(high_entropy(rng.random((rows, width)), mask, 1), mask)


def test_nothing_scored_nothing_kept():
    np.testing.assert_array_equal(high_entropy([[1.0]], [[0]], 0.5), [[False]])


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_lies_between(share):
    with pytest.raises(ValueError, match=rf"^share must be one of 0 to 1, got share={share}$"):
        high_entropy([[1.0]], [[1]], share)


def test_entropies_are_finite():
    with pytest.raises(ValueError, match=r"^entropy must be finite where the mask scores, got nan"):
        high_entropy([[NAN]], [[1]], 0.5)


def drifted(advantage, *drift, threshold=1.0, mask=None):
    """Whether a completion is kept whose tokens have become less likely by the drifts."""
    mask = [[1] * len(drift)] if mask is None else mask
    return off_policy_rows([advantage], -np.array([drift]), np.zeros((1, len(drift))), mask, threshold).tolist()


def test_falling_rows_that_drifted_are_dropped():
    assert drifted(-1, 3, 0) == [False]


@pytest.mark.parametrize("advantage", [0, 1])
def test_other_rows_are_kept_however_far(advantage):
    assert drifted(advantage, 9, 9) == [True]


def test_the_threshold_belongs_to_the_kept():
    assert drifted(-1, 2, 0) == [True]


def test_the_drift_is_a_mean_over_scored_tokens():
    assert drifted(-1, 3, 0, 9, mask=[[1, 1, 0]]) == [False]
    assert drifted(-1, 2, 0, 9, mask=[[1, 1, 0]]) == [True]


def test_tokens_that_became_likelier_make_up_for_others():
    assert drifted(-1, 3, -2) == [True]


def test_a_token_that_the_sampler_did_not_score_counts_as_zero():
    log_p, sampled = [[-3.0, -7.0]], [[0.0, NAN]]

    assert off_policy_rows([-1], log_p, sampled, [[1, 1]], 2).tolist() == [True]
    assert off_policy_rows([-1], log_p, sampled, [[1, 1]], 1).tolist() == [False]


def test_a_row_without_tokens_is_kept():
    assert off_policy_rows([-1], [[0.0]], [[1.0]], [[0]], 1).tolist() == [True]


def test_a_threshold_is_positive():
    with pytest.raises(ValueError, match=r"^threshold must be positive and finite, got threshold=0$"):
        drifted(-1, 1, threshold=0)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([1, 2], [[0.0]], [[0.0]]), "advantage"),
        (([1], [[0.0, 0.0]], [[0.0]]), "log_p"),
        (([1], [[0.0]], [[0.0, 0.0]]), "sampled"),
    ],
)
def test_shapes_of_the_drift_agree(arguments, name):
    with pytest.raises(ValueError, match=rf"^{name} must have shape"):
        off_policy_rows(*arguments, [[1]], 1)


def test_infinite_samples_are_refused():
    with pytest.raises(ValueError, match=r"^sampled must be finite where the mask scores, got -inf"):
        off_policy_rows([1], [[0.0]], [[-math.inf]], [[1]], 1)


OLD = np.log([[1 / 2, 1 / 8, 1 / 2], [1 / 2, 1 / 2, 1 / 2]])
SAMPLED = [[math.log(1 / 8), math.log(1 / 2), 0.0], [NAN, math.log(1 / 4), math.log(1 / 2)]]
MASK = [[1, 1, 0], [1, 1, 1]]


def test_token_ratios():
    np.testing.assert_allclose(
        sampler_ratio(OLD, SAMPLED, MASK, "token_truncate"), [[4, 1 / 4, 1], [1, 2, 1]], rtol=1e-15
    )


def test_token_ratios_are_held_between():
    ratio = sampler_ratio(OLD, SAMPLED, MASK, "token_truncate", 0.5, 3)

    np.testing.assert_allclose(ratio, [[3, 1 / 2, 1], [1, 2, 1]], rtol=1e-15)


def test_token_ratios_outside_are_dropped():
    ratio = sampler_ratio(OLD, SAMPLED, MASK, "token_mask", 0.5, 3)

    np.testing.assert_allclose(ratio, [[0, 0, 1], [1, 2, 1]], rtol=1e-15)


def test_bounds_of_the_ratio_belong_to_it():
    np.testing.assert_array_equal(sampler_ratio([[0.0]], [[0.0]], [[1]], "token_mask", 1, 1), [[1]])


def test_sequence_ratios_are_products():
    old, sampled = np.log([[1 / 2, 1 / 2]]), np.log([[1 / 8, 1 / 4]])

    np.testing.assert_allclose(sampler_ratio(old, sampled, [[1, 1]], "sequence_truncate"), [[8]], rtol=1e-14)
    np.testing.assert_allclose(sampler_ratio(old, sampled, [[1, 1]], "sequence_truncate", 0, 3), [[3]], rtol=1e-14)
    np.testing.assert_allclose(sampler_ratio(old, sampled, [[1, 1]], "sequence_mask", 0, 3), [[0]], rtol=1e-14)


@given(seeds, row_numbers, widths)
def test_samplers_that_agree_need_no_correction(seed, rows, width):
    rng = np.random.default_rng(seed)
    logp, mask = draw_log_p(rng, rows, width), draw_mask(rng, rows, width)

    np.testing.assert_array_equal(sampler_ratio(logp, logp, mask, "token_mask"), np.ones((rows, width)))
    np.testing.assert_array_equal(sampler_ratio(logp, logp, mask, "sequence_mask"), np.ones((rows, 1)))


def test_unknown_modes_are_refused():
    rule = r"^no mode='token': give one of token_truncate, token_mask, sequence_truncate, sequence_mask$"

    with pytest.raises(ValueError, match=rule):
        sampler_ratio([[0.0]], [[0.0]], [[1]], "token")


@pytest.mark.parametrize(("old", "sampled", "name"), [([[NAN]], [[0.0]], "old"), ([[0.0]], [[math.inf]], "sampled")])
def test_known_log_probabilities_are_finite(old, sampled, name):
    with pytest.raises(ValueError, match=rf"^{name} must be finite where the mask scores"):
        sampler_ratio(old, sampled, [[1]], "token_mask")


@pytest.mark.parametrize(("old", "sampled", "name"), [([[0.0] * 2], [[0.0]], "old"), ([[0.0]], [[0.0] * 2], "sampled")])
def test_log_probabilities_fit_the_mask(old, sampled, name):
    with pytest.raises(ValueError, match=rf"^{name} must have shape \[1, 1\], got \[1, 2\]"):
        sampler_ratio(old, sampled, [[1]], "token_mask")

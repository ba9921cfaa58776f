"""What comes in another number, or is no finite number, is one clear error in every form, and never broadcast."""

import math

import numpy as np
import pytest

from closed_forms import (
    advantages,
    distillation,
    divergences,
    kl,
    policy,
    policy_masks,
    policy_tokens,
    reference_free,
    universal,
)

NAN = math.nan
MASK = [[1, 1], [1, 0]]
ZERO = [[0.0, 0.0], [0.0, 0.0]]
UP, DOWN = (2, 3), (3, 2)
HALF = np.full((2, 2), 1 / 2)


# Name, the call, and what the error says.
REFUSED = {
    "advantages that do not fit": (lambda: policy.clipped([0.0] * 3, [1.0] * 2, 0.2, 0.2), r"shapes \[2\] and \[3\]"),
    "advantages of rows": (lambda: policy.cispo(ZERO, [[1.0]] * 3, 0.2), r"shapes \[3, 1\] and \[2, 2\]"),
    "advantages of sapo": (lambda: policy.sapo([0.0] * 3, [1.0] * 2, 1.0, 1.05), r"advantages must fit"),
    "advantages of vespo": (lambda: policy.vespo([0.0] * 3, [1.0] * 2, UP, DOWN), r"advantages must fit"),
    "k of vespo": (lambda: policy.vespo([0.0], [1.0], (0, 3), DOWN), r"rising must be positive"),
    "lambda of vespo": (lambda: policy.vespo([0.0], [1.0], UP, (3, -2)), r"falling must be positive"),
    "ratios of vespo": (lambda: policy.vespo_log_weight(ZERO, MASK, [[1.0]] * 3), r"shape \[2, 2\] or \[2, 1\]"),
    "missing ratios": (lambda: policy.vespo_log_weight(ZERO, MASK, [[NAN], [1.0]]), r"ratios of 0 or more"),
    "negative ratios": (lambda: policy.vespo_log_weight(ZERO, MASK, -0.5), r"ratios of 0 or more"),
    "too few of gmpo": (lambda: policy.geometric(ZERO, [1.0], MASK, 0.4, 0.4), r"advantage must have shape \[2\]"),
    "too many of gmpo": (lambda: policy.geometric(ZERO, [1.0] * 3, MASK, 0.4, 0.4), r"advantage must have shape"),
    "one for all of gmpo": (lambda: policy.geometric(ZERO, 1.0, MASK, 0.4, 0.4), r"advantage must have shape"),
    "missing ratio of a penalty": (lambda: kl.plain([NAN], 0.1), r"u must be finite"),
    "missing ratio, corrected": (lambda: kl.corrected([NAN], [0.0], 0.1), r"u must be finite"),
    "missing old ratio": (lambda: kl.corrected([0.0], [NAN], 0.1), r"q must be finite"),
    "old ratios of another shape": (lambda: kl.corrected([0.0, 1.0], [[0.0], [1.0]], 0.1), r"q must have shape \[2\]"),
    "missing factor": (lambda: policy_tokens.at_tokens(MASK, [[NAN, 1.0], [1.0, 1.0]]), r"factor must be finite"),
    "missing multiplier": (lambda: policy_tokens.at_tokens(MASK, 1.0, [[NAN], [1.0]]), r"multiplier must be finite"),
    "multiplier of sequences": (
        lambda: policy_tokens.at_sequences(MASK, [[1.0]] * 2, NAN),
        r"multiplier must be finite",
    ),
    "bounds of a sampler": (
        lambda: policy_masks.sampler_ratio(ZERO, ZERO, MASK, "token_mask", 3.0, 1.0),
        r"low=3.0 and high=1.0: give the smaller first",
    ),
    "missing bound": (lambda: policy_masks.sampler_ratio(ZERO, ZERO, MASK, "token_mask", NAN, 1.0), r"low=nan"),
    "half a mark": (lambda: policy_masks.loss_mask(MASK, MASK, [0.5, 0]), r"truncated holds 0 or 1"),
    "range of rewards": (lambda: advantages.shaped_reward([1.0], 1.0, -1.0, 0.1, [0.0]), r"low=1.0 and high=-1.0"),
    "negative beta": (lambda: advantages.shaped_reward([1.0], -1.0, 1.0, -0.1, [0.0]), r"beta must be one of 0 to inf"),
    "missing beta": (lambda: advantages.shaped_reward([1.0], -1.0, 1.0, NAN, [0.0]), r"beta must be one of"),
    "missing score": (lambda: reference_free.alphapo_score([NAN], 0.1), r"log_p must be finite"),
    "missing alpha": (lambda: reference_free.alphapo_score([0.0], NAN), r"alpha must be finite, got alpha=nan"),
    "missing log-ratio": (lambda: divergences.score([NAN], "js_divergence"), r"u must be finite"),
    "infinite log-ratio": (lambda: divergences.slope([math.inf], "forward_kl"), r"u must be finite"),
    "infinite alpha": (lambda: divergences.slope([0.0], "alpha_divergence", math.inf), r"alpha must be finite"),
    "missing logit": (
        lambda: distillation.over_words([[1.0, NAN]], [[1.0, 2.0]], 0.5, 1.0, [[1, 0]]),
        r"student must be",
    ),
    "missing logit of a teacher": (
        lambda: distillation.over_words([[1.0, 2.0]], [[1.0, NAN]], 0.5, 1.0, [[1, 0]]),
        r"teacher must be finite",
    ),
    "tokens of another number": (lambda: universal.merged(HALF, [0], [[0, 1]], "first"), r"for each of 2 positions"),
    "token that is no word": (lambda: universal.merged(HALF, [0, 2], [[0, 1]], "first"), r"one of 2 words"),
    "token below 0": (lambda: universal.merged(HALF, [-1, 0], [[0, 1]], "first"), r"one of 2 words"),
    "position of no row": (lambda: universal.merged(HALF, [0, 1], [[0, 2]], "last"), r"positions of 0 to 1"),
    "position below 0": (lambda: universal.merged(HALF, [0, 1], [[-1, 0]], "last"), r"positions of 0 to 1"),
    "empty group": (lambda: universal.merged(HALF, [0, 1], [[]], "last"), r"at least one each"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_another_number_or_no_number_is_refused(name):
    call, said = REFUSED[name]

    with pytest.raises(ValueError, match=said):
        call()


# What is at the edge of the rule and belongs to it.
TAKEN = {
    "advantages by row": lambda: policy.clipped(ZERO, [[1.0], [2.0]], 0.2, 0.2),
    "one advantage": lambda: policy.clipped(ZERO, 1.0, 0.2, 0.2),
    "ratio of 0": lambda: policy.vespo_log_weight(ZERO, MASK, [[0.0], [1.0]]),
    "what is not scored": lambda: policy_tokens.at_tokens(MASK, [[1.0, 1.0], [1.0, NAN]]),
    "bounds that meet": lambda: policy_masks.sampler_ratio(ZERO, ZERO, MASK, "token_truncate", 1.0, 1.0),
    "range of one reward": lambda: advantages.shaped_reward([2.0], 1.0, 1.0, 0.0, [0.0]),
    "alpha that is not looked at": lambda: divergences.score([0.0], "forward_kl", NAN),
    "first and last word": lambda: universal.merged(HALF, [0, 1], [[0], [1]], "first"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_lies_at_the_edge_of_the_rule_is_taken(name):
    assert np.isfinite(TAKEN[name]()).all()

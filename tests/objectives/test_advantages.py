"""Advantages and masks in torch, as TRL defines them, against the closed forms. Rewards are missing now and then."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import advantages, policy_masks
from closed_forms.rounding import unit_roundoff
from tests.closed_forms.tokens import draw_log_p, draw_mask, row_numbers, seeds, widths

groups_drawn = st.integers(1, 3)
sizes = st.integers(2, 4)


def draw_rewards(seed, groups, size):
    """[i, k] rewards of two functions, each missing in one of five places, and their weights."""
    rng = np.random.default_rng(seed)
    rewards = rng.integers(-16, 17, (groups * size, 2)) / 4
    return np.where(rng.random(rewards.shape) < 0.2, np.nan, rewards), rng.integers(1, 5, 2) / 2


def known_mean(x, dim):
    known = ~torch.isnan(x)
    return torch.nansum(x, dim, keepdim=True) / known.sum(dim, keepdim=True)


def known_deviation(x, dim):
    known = (~torch.isnan(x)).sum(dim, keepdim=True)
    return torch.sqrt(
        torch.nansum((x - known_mean(x, dim)) ** 2, dim, keepdim=True) / torch.where(known > 1, known - 1, torch.nan)
    )


def total(rewards, weights):
    every_one_missing = torch.isnan(rewards).all(1)
    return torch.where(every_one_missing, torch.nan, torch.nansum(rewards * weights, 1))


def assert_advantages(expected, found):
    """Equal but for rounding: 40 roundings of numbers below 2^6, divided by 10^-4 where all rewards are alike."""
    atol = 40 * unit_roundoff("float64") * 2**6 / 1e-4
    np.testing.assert_allclose(found, torch.nan_to_num(expected).ravel().numpy(), rtol=0, atol=atol)


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@given(seeds, groups_drawn, sizes)
def test_sum_then_normalize(scale, seed, groups, size):
    rewards, weights = draw_rewards(seed, groups, size)
    r = total(torch.tensor(rewards), torch.tensor(weights)).view(groups, size)

    centred = r - known_mean(r, 1)
    divisor = {"group": known_deviation(r, 1), "batch": known_deviation(r.ravel(), 0), "none": None}[scale]
    expected = centred if divisor is None else centred / (divisor + 1e-4)
    assert_advantages(expected, advantages.sum_then_normalize(rewards, weights, size, scale))


@given(seeds, groups_drawn, sizes)
def test_normalize_then_sum(seed, groups, size):
    rewards, weights = draw_rewards(seed, groups, size)
    grouped = torch.tensor(rewards).view(groups, size, 2)

    each = ((grouped - known_mean(grouped, 1)) / (known_deviation(grouped, 1) + 1e-4)).view(-1, 2)
    r = torch.nansum(each * torch.tensor(weights), 1)
    r[torch.isnan(torch.tensor(rewards)).all(1)] = torch.nan
    expected = (r - known_mean(r, 0)) / (known_deviation(r, 0) + 1e-4)
    assert_advantages(expected, advantages.normalize_then_sum(rewards, weights, size))


@given(seeds, groups_drawn, sizes, st.booleans())
def test_leave_one_out(seed, groups, size, normalize):
    rewards, weights = draw_rewards(seed, groups, size)
    r = total(torch.tensor(rewards), torch.tensor(weights)).view(groups, size)

    others = [torch.cat([r[:, :i], r[:, i + 1 :]], 1) for i in range(size)]
    a = torch.stack([r[:, i] - known_mean(other, 1)[:, 0] for i, other in enumerate(others)], 1).ravel()
    expected = (a - known_mean(a, 0)) / (known_deviation(a, 0) + 1e-4) if normalize else a
    assert_advantages(expected, advantages.leave_one_out(rewards, weights, size, normalize))


@given(seeds, row_numbers, widths, st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_high_entropy(seed, rows, width, share):
    rng = np.random.default_rng(seed)
    mask, entropy = draw_mask(rng, rows, width), rng.random((rows, width))

    threshold = torch.quantile(torch.tensor(entropy[mask]), 1 - share)
    expected = (torch.tensor(entropy) >= threshold) & torch.tensor(mask)
    np.testing.assert_array_equal(policy_masks.high_entropy(entropy, mask, share), expected)


@given(seeds, row_numbers, widths)
def test_off_policy_rows(seed, rows, width):
    rng = np.random.default_rng(seed)
    mask, logp, sampled = draw_mask(rng, rows, width), draw_log_p(rng, rows, width), draw_log_p(rng, rows, width)
    sampled = np.where(rng.random(sampled.shape) < 0.2, np.nan, sampled)
    advantage = rng.integers(-1, 2, rows)

    drift = torch.nan_to_num(torch.tensor(sampled) - torch.tensor(logp), nan=0.0) * torch.tensor(mask)
    mean = drift.sum(1) / torch.tensor(mask).sum(1)
    expected = (torch.tensor(advantage) >= 0) | (mean <= 0.1)
    np.testing.assert_array_equal(policy_masks.off_policy_rows(advantage, logp, sampled, mask, 0.1), expected)


@pytest.mark.parametrize("mode", ["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"])
@given(seeds, row_numbers, widths)
def test_sampler_ratio(mode, seed, rows, width):
    rng = np.random.default_rng(seed)
    mask, old, sampled = draw_mask(rng, rows, width), draw_log_p(rng, rows, width), draw_log_p(rng, rows, width)
    sampled = np.where(rng.random(sampled.shape) < 0.2, np.nan, sampled)

    drift = torch.nan_to_num((torch.tensor(old) - torch.tensor(sampled)) * torch.tensor(mask), nan=0.0)
    ratio = torch.exp(drift.sum(1, keepdim=True) if mode.startswith("sequence") else drift)
    kept = (ratio >= 0.5) & (ratio <= 3)
    expected = ratio.clamp(0.5, 3) if mode.endswith("truncate") else torch.where(kept, ratio, 0.0)
    found = policy_masks.sampler_ratio(old, sampled, mask, mode, 0.5, 3.0)
    np.testing.assert_allclose(found, expected, rtol=4 * unit_roundoff("float64"))


@given(seeds, st.sampled_from([0.125, 0.5, 4.0]))
def test_the_optimal_value(seed, beta):
    rewards = np.random.default_rng(seed).integers(-64, 65, (3, 4)) / 16

    table = torch.tensor(rewards)
    reference = beta * torch.log(torch.exp(table / beta).mean(1))
    np.testing.assert_allclose(advantages.optimal_value(rewards, beta), reference, rtol=0, atol=1e-13 * (1 + beta))

"""Advantage of every completion from the rewards of its group.

Axes: i = completion, group by group; k = reward function; g = group of G completions of one prompt. Means and
deviations skip rewards that are missing (NaN), and sd is the sample deviation, divided by n - 1. A completion without
any reward, or in a group where nothing is left to divide by, gets the advantage 0.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._read import between, one_of, positive, read_numbers, shape_of
from ._window import Float


def sum_then_normalize(rewards: ArrayLike, weights: ArrayLike, group: int, scale: str) -> Float:
    """Advantage from the weighted sum of the rewards.

        r_i = sum_k weight_k reward_ik,   A_i = (r_i - mean_g r) / (sd r + 10^-4)

    sd is that of the group for scale "group", of all completions for "batch"; for "none" nothing is divided.
    Source: https://arxiv.org/abs/2402.03300 (GRPO), section 4.1.2; "none": https://arxiv.org/abs/2503.20783 (Dr. GRPO);
    "batch": https://arxiv.org/abs/2508.08221; ``GRPOTrainer._generate_and_score_completions``.

    Args:
        rewards: [i, k], NaN where a function gave none.
        weights: [k] of the reward functions.
        group: G, at least 2.
        scale: "group", "batch" or "none".

    Returns:
        [i] advantages; they sum to 0 over each group.

    Raises:
        ValueError: rewards that are not rows, or infinite; another number of weights; completions that are no whole
            groups of at least 2; an unknown scale.
    """
    one_of(["group", "batch", "none"], scale, "scale")
    r_gi = _in_groups(_weighted(_read_rewards(rewards), weights), group)
    centred = r_gi - _mean(r_gi)
    if scale == "none":
        return _known(centred)
    return _known(_over_deviation(centred, r_gi if scale == "group" else r_gi.reshape(1, -1)))


def optimal_value(rewards: ArrayLike, beta: float) -> Float:
    """Value of a prompt under the best policy near the reference, from rewards of what the reference says.

        V*_g = beta log mean_i e^(r_gi / beta)

    Source: https://arxiv.org/abs/2505.20686 (A*-PO); ``A2POTrainer._estimate_optimal_values``, beta1.

    Args:
        rewards: [g, i] of the samples of each prompt.
        beta: positive; the value is the largest reward towards 0, and the mean of them where it is large.

    Returns:
        [g] values, between the mean and the largest reward.

    Raises:
        ValueError: rewards that are no rows of finite numbers; beta is not positive.
    """
    shape = shape_of(rewards)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"rewards must be rows of samples, got shape {list(shape)}: give [prompt, sample]")
    r_gi = read_numbers(rewards, shape, "rewards") / positive(beta, "beta")
    return np.asarray(beta * (np.logaddexp.reduce(r_gi, axis=1) - np.log(shape[1])))


def normalize_then_sum(rewards: ArrayLike, weights: ArrayLike, group: int) -> Float:
    """Advantage from the sum of rewards that are normalized one by one.

        R_i = sum_k weight_k (reward_ik - mean_g reward_k) / (sd_g reward_k + 10^-4)
        A_i = (R_i - mean R) / (sd R + 10^-4), over all completions, whatever scale_rewards says

    Arguments and errors as for ``sum_then_normalize``. Source: https://arxiv.org/abs/2601.05242 (GDPO);
    ``GRPOTrainer._generate_and_score_completions``, multi_objective_aggregation.

    Returns:
        [i] advantages; they sum to 0 over all completions.
    """
    reward_ik = _read_rewards(rewards)
    each = [_in_groups(reward_i, group) for reward_i in reward_ik.T]
    scaled = np.stack([_over_deviation(r_gi - _mean(r_gi), r_gi).ravel() for r_gi in each], axis=1)
    # A reward that alone in its group is known has no deviation: it counts as 0 where another function scores the row
    r_1i = np.where(np.isnan(reward_ik).all(1), np.nan, _weighted(np.nan_to_num(scaled), weights))[None]
    return _known(_over_deviation(r_1i - _mean(r_1i), r_1i))


def leave_one_out(rewards: ArrayLike, weights: ArrayLike, group: int, normalize: bool = False) -> Float:
    """Advantage over the mean of the siblings.

        A_i = r_i - sum_(j in g, j != i) r_j / (G - 1),   r_i = sum_k weight_k reward_ik

    With normalize, then (A_i - mean A) / (sd A + 10^-4) over all completions. Clip the rewards, and take beta times the
    KL of the completion off, before: ``shaped_reward``. Rewards, weights, group and errors as for
    ``sum_then_normalize``. Source: https://arxiv.org/abs/2402.14740 (RLOO);
    ``RLOOTrainer._generate_and_score_completions``.

    Returns:
        [i] advantages; they sum to 0 over each group, and are G / (G - 1) times those over the group's mean.
    """
    r_gi = _in_groups(_weighted(_read_rewards(rewards), weights), group)
    siblings = (~np.isnan(r_gi)).sum(1, keepdims=True) - 1
    others = np.nansum(r_gi, axis=1, keepdims=True) - r_gi
    a_gi = r_gi - np.divide(others, siblings, out=np.full(r_gi.shape, np.nan), where=siblings > 0)
    a_1i = a_gi.reshape(1, -1)
    return _known(_over_deviation(a_1i - _mean(a_1i), a_1i) if normalize else a_gi)


def shaped_reward(reward: ArrayLike, low: float, high: float, beta: float, divergence: ArrayLike) -> Float:
    """Reward of RLOO after clipping and the KL penalty, which carries no gradient of its own.

        r'_i = min(max(r_i, low), high) - beta sum_t (log pi_old - log pi_ref)

    Source: ``RLOOTrainer._generate_and_score_completions``, reward_clip_range and beta.

    Args:
        reward: [i] weighted sum of the reward functions, NaN where there is none.
        low, high: the clip range; minus and plus infinity for none.
        beta: 0 or more; divergence: [i] the sum over the scored tokens.

    Returns:
        [i] rewards, NaN where they were.

    Raises:
        ValueError: a divergence that is not finite, or of another length; a beta below 0; a range that ends before it
            begins.
    """
    if not low <= high:
        raise ValueError(f"rewards are clipped from low to high, got low={low} and high={high}: give the smaller first")
    share = between(0, beta, np.inf, "beta")
    r_i = read_numbers(reward, np.shape(divergence), "reward", finite=False)
    return np.asarray(np.clip(r_i, low, high) - share * read_numbers(divergence, r_i.shape, "divergence"))


def _read_rewards(rewards: ArrayLike) -> Float:
    shape = shape_of(rewards)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"rewards need one row per completion, got {rewards!r}: one number per reward function in each"
        )
    reward_ik = read_numbers(rewards, shape, "rewards", finite=False)
    if np.isinf(reward_ik).any():
        raise ValueError(f"rewards must be finite, or NaN where there is none, got {rewards!r}: clip them")
    return reward_ik


def _weighted(reward_ik: Float, weights: ArrayLike) -> Float:
    weight_k = read_numbers(weights, reward_ik.shape[1:], "weights")
    return np.where(np.isnan(reward_ik).all(1), np.nan, np.nansum(reward_ik * weight_k, axis=1))


def _in_groups(r_i: Float, group: int) -> Float:
    completions = r_i.size
    if group < 2 or completions % group:
        raise ValueError(f"completions come in groups of at least 2, got {completions} of them and group={group}")
    return r_i.reshape(-1, int(group))


def _mean(r_gi: Float) -> Float:
    known = (~np.isnan(r_gi)).sum(1, keepdims=True)
    total = np.nansum(r_gi, axis=1, keepdims=True)
    return np.asarray(np.divide(total, known, out=np.full(total.shape, np.nan), where=known > 0))


def _over_deviation(centred: Float, r_gi: Float) -> Float:
    spare = (~np.isnan(r_gi)).sum(1, keepdims=True) - 1
    squares = np.nansum((r_gi - _mean(r_gi)) ** 2, axis=1, keepdims=True)
    deviation = np.sqrt(np.divide(squares, spare, out=np.full(squares.shape, np.nan), where=spare > 0))
    return np.asarray(centred / (deviation + 1e-4))


def _known(advantage: Float) -> Float:
    return np.nan_to_num(advantage.ravel())

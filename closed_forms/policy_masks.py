"""Which tokens and completions of a policy-gradient step count, and how much: masks and multipliers.

Axes: b = completion, t = token. A mask takes tokens out of the loss and of the counts. A multiplier scales the policy
term alone: neither the KL penalty nor, in TRL 1.16, any denominator sees it.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._read import Mask, between, one_of, positive, read_mask, read_numbers, read_tokens
from ._window import Float


def loss_mask(completion: ArrayLike, tool: ArrayLike, truncated: ArrayLike) -> Mask:
    """Tokens that the loss scores.

        m_bt = completion_bt tool_bt (1 - truncated_b)

    A truncated completion stays in the batch size B and in its group's baseline.
    Source: mask_truncated_completions in ``GRPOTrainer._generate_and_score_completions``.

    Args:
        completion: [b, t] 1 where the completion has a token; tool: [b, t] 0 where a tool wrote it, else 1.
        truncated: [b] 1 where the completion ended without an end token and such are to be masked, else 0.

    Returns:
        [b, t] booleans.

    Raises:
        ValueError: masks that are no rectangles of 0 and 1, or of two shapes; truncated is not one of 0 and 1 for each
            row.
    """
    mask_bt = read_mask(completion, "completion")
    wrote_bt = read_mask(tool, "tool")
    if wrote_bt.shape != mask_bt.shape:
        raise ValueError(f"tool must have the shape of completion, got {wrote_bt.shape} for {mask_bt.shape}")
    cut_b = read_numbers(truncated, mask_bt.shape[:1], "truncated")
    if not np.isin(cut_b, (0, 1)).all():
        raise ValueError(f"truncated holds 0 or 1 for each completion, got {truncated!r}: mark each")
    ended_b = cut_b == 0
    return np.asarray(mask_bt & wrote_bt & ended_b[:, None])


def high_entropy(entropy: ArrayLike, mask: ArrayLike, share: float) -> Mask:
    """Multiplier that keeps the tokens of the highest entropy.

        q_bt = m_bt [H_bt >= quantile of the scored H at 1 - share]

    The quantile interpolates linearly, over the micro-batch (of all ranks).
    Source: https://arxiv.org/abs/2506.01939; ``GRPOTrainer.get_high_entropy_mask``.

    Args:
        entropy: [b, t]; mask: [b, t] 1 where scored.
        share: top_entropy_quantile, 0 to 1; 1 keeps all.

    Returns:
        [b, t] booleans; nothing where nothing is scored.

    Raises:
        ValueError: a mask that is no rectangle of 0 and 1; scored entropies that are not finite; a share outside.
    """
    mask_bt = read_mask(mask)
    h_bt, rest = read_tokens(entropy, mask_bt, "entropy"), 1 - between(0, share, 1, "share")
    if not mask_bt.any():
        return mask_bt
    return np.asarray(mask_bt & (h_bt >= np.quantile(h_bt[mask_bt], rest)))


def off_policy_rows(
    advantage: ArrayLike, log_p: ArrayLike, sampled: ArrayLike, mask: ArrayLike, threshold: float
) -> Mask:
    """Multiplier that drops completions which fell and drifted.

        q_b = [A_b >= 0 or mean_t (l_sampler - l) <= threshold]

    A token whose log-probability the sampler did not return (NaN) counts as 0 in the mean.
    Source: https://arxiv.org/abs/2512.02556 (DeepSeek-V3.2); ``GRPOTrainer.get_off_policy_mask``.

    Args:
        advantage: [b]; log_p: [b, t] of the policy now; sampled: [b, t] of the sampler, or of the old policy.
        mask: [b, t] 1 where scored; threshold: off_policy_mask_threshold, positive.

    Returns:
        [b] booleans, True where the completion is kept.

    Raises:
        ValueError: shapes that differ; numbers that are not finite; a threshold that is not positive.
    """
    mask_bt = read_mask(mask)
    a_b = read_numbers(advantage, mask_bt.shape[:1], "advantage")
    known_bt = mask_bt & ~np.isnan(read_numbers(sampled, mask_bt.shape, "sampled", finite=False))
    drift_bt = read_tokens(sampled, known_bt, "sampled") - read_tokens(log_p, known_bt, "log_p")
    mean_b = drift_bt.sum(1) / np.maximum(mask_bt.sum(1), 1)
    return np.asarray((a_b >= 0) | (mean_b <= positive(threshold, "threshold")))


def sampler_ratio(
    old: ArrayLike, sampled: ArrayLike, mask: ArrayLike, mode: str, low: float = 0.0, high: float = np.inf
) -> Float:
    """Multiplier that corrects for completions drawn by another program than the one that trains.

        token_*      r_bt = e^(l_old - l_sampler) of the token
        sequence_*   r_b = e^(sum_t l_old - l_sampler) of the completion, the sum and not the mean
        *_truncate   min(max(r, low), high)
        *_mask       r if low <= r <= high, else 0

    A token that the sampler did not score (NaN), or that the mask leaves out, counts as if both agreed.
    Source: vllm_importance_sampling_mode in ``GRPOTrainer._generate_and_score_completions``.

    Args:
        old: [b, t] log-probabilities of the program that trains; sampled: [b, t] of the sampler.
        mask: [b, t] 1 where scored.
        mode: "token_truncate", "token_mask", "sequence_truncate" or "sequence_mask".
        low, high: bounds of the ratio.

    Returns:
        [b, t] for tokens, [b, 1] for sequences; 1 where both agree.

    Raises:
        ValueError: an unknown mode; shapes that differ; numbers that are not finite; bounds that end before they begin.
    """
    if not low <= high:
        raise ValueError(f"ratios are bound from low to high, got low={low} and high={high}: give the smaller first")
    one_of(["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"], mode, "mode")
    mask_bt = read_mask(mask)
    known_bt = mask_bt & ~np.isnan(read_numbers(sampled, mask_bt.shape, "sampled", finite=False))
    log_r = read_tokens(old, known_bt, "old") - read_tokens(sampled, known_bt, "sampled")
    r = np.exp(log_r.sum(1, keepdims=True) if mode.startswith("sequence") else log_r)
    return np.where((r >= low) & (r <= high), r, 0.0) if mode.endswith("mask") else np.asarray(np.clip(r, low, high))

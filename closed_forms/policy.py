"""How hard a policy-gradient objective pulls at a log-probability: the factor c of GRPO and its relatives.

c = -d(loss)/dl at one token, or at one completion, before anything is averaged: positive where the step raises l. It
is a function of the log-ratio q to the old policy and of the advantage A, with rho = e^q. At token level it is
q = l_t - l_old,t; at sequence level ``mean_log_ratio`` (GRPO's "sequence", GSPO) or the sum (RLOO). ``policy_tokens``
makes weights of factors.

Source of all: ``GRPOTrainer._compute_loss``, trl/trainer/grpo_trainer.py, and the paper that each names.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._logistic import sigma
from ._read import positive, read_mask, read_numbers, read_tokens
from ._window import Float


def clipped(q: ArrayLike, advantage: ArrayLike, low: float, high: float, delta: float = np.inf) -> Float:
    """Factor of the clipped surrogate: grpo, bnpo, dr_grpo, dapo, luspo and RLOO.

        c = rho A   if A > 0 and rho <= min(1 + high, delta), or A < 0 and 1 - low <= rho <= max(1 + high, delta)
        c = 0       else;   L = -min(min(rho, delta) A, clip(rho, 1 - low, 1 + high) A)

    Without delta no ratio is too large where A < 0.
    Source: https://arxiv.org/abs/1707.06347 (PPO), equation 7; delta: https://arxiv.org/abs/2505.07291 (INTELLECT-2).

    Args:
        q: log-ratios, any shape; advantage: A, of a shape that broadcasts with it.
        low, high: epsilon_low and epsilon_high, positive.
        delta: bound on the ratio, positive; infinite for one-sided clipping.

    Returns:
        The broadcast shape; A where the policy has not moved and delta is at least 1.

    Raises:
        ValueError: numbers that are not finite; an option that is not positive.
    """
    rho, a = _ratio_and_advantage(q, advantage)
    floor, ceiling = 1 - positive(low, "low"), 1 + positive(high, "high")
    if not delta > 0:
        raise ValueError(f"delta must be positive, got delta={delta}: TRL's advice is more than 1 + high")
    rising = (a > 0) & (rho <= min(ceiling, delta))
    falling = (a < 0) & (rho >= floor) & (rho <= max(ceiling, delta))
    return np.where(rising | falling, rho * a, 0.0)


def cispo(q: ArrayLike, advantage: ArrayLike, cap: float) -> Float:
    """Factor of the log-probability under a capped ratio, which carries no gradient.

        c = min(rho, cap) A

    The cap is epsilon_high itself, not 1 + epsilon_high; at sequence level all tokens of the completion share one c.
    Q, advantage and result as for ``clipped``. Source: https://arxiv.org/abs/2506.13585 (MiniMax-M1, CISPO).

    Args:
        cap: positive.

    Raises:
        ValueError: numbers that are not finite; a cap that is not positive.
    """
    rho, a = _ratio_and_advantage(q, advantage)
    return np.asarray(np.minimum(rho, positive(cap, "cap")) * a)


def sapo(q: ArrayLike, advantage: ArrayLike, rising: float, falling: float) -> Float:
    """Factor of the softly gated surrogate.

        c = 4 sigma(x) sigma(-x) rho A,   x = tau (rho - 1),   tau = rising if A > 0, else falling
        L = -4 / tau sigma(x) A

    Q, advantage and result as for ``clipped``. Source: https://arxiv.org/abs/2511.20347 (SAPO).

    Args:
        rising, falling: temperatures, positive; 1.0 and 1.05 in TRL.

    Raises:
        ValueError: numbers that are not finite; a temperature that is not positive.
    """
    rho, a = _ratio_and_advantage(q, advantage)
    tau = np.where(a > 0, positive(rising, "rising"), positive(falling, "falling"))
    x = tau * (rho - 1)
    return np.asarray(4 * sigma(x) * sigma(-x) * rho * a)


def vespo(
    log_weight: ArrayLike, advantage: ArrayLike, rising: tuple[float, float], falling: tuple[float, float]
) -> Float:
    """Factor of the log-probability under the gamma weight of the completion, which carries no gradient.

        c = phi A,   log phi = lam + k log w - lam w,   (k, lam) = rising if A >= 0, else falling

    Always at sequence level: every token of the completion has the same c. TRL holds log w to log 10^-8 .. 20.
    Source: https://arxiv.org/abs/2602.10693 (VESPO); ``GRPOTrainer.get_gamma_weights``.

    Args:
        log_weight: [b] log w, from ``vespo_log_weight``; advantage: [b] A.
        rising, falling: k and lam, positive; (2, 3) and (3, 2) in TRL.

    Returns:
        [b]; A where the policy has not moved.

    Raises:
        ValueError: numbers that are not finite, or of two lengths; k or lam that are not positive.
    """
    for name, options in (("rising", rising), ("falling", falling)):
        for option in options:
            positive(option, name)
    w, a = _ratio_and_advantage(np.clip(log_weight, np.log(1e-8), 20), advantage)
    k, lam = (np.where(a >= 0, up, down) for up, down in zip(rising, falling))
    return np.asarray(np.exp(lam + k * np.log(w) - lam * w) * a)


def vespo_log_weight(q: ArrayLike, mask: ArrayLike, sampler: ArrayLike = 1.0) -> Float:
    """Logarithm of the importance weight of a completion in VESPO: a sum over its tokens.

        log w_b = sum_t m_bt clip(q_bt, -20, 20) + sum_t clip(log r_bt, log 10^-8, 20)

    Args:
        q: [b, t] log-ratios; mask: [b, t] 1 where scored.
        sampler: [b, t] or [b, 1] ratio r of the old policy to the sampler, ``policy_masks.sampler_ratio``; 1 if none.
            A ratio that was set to 0 counts as 10^-8.

    Returns:
        [b].

    Raises:
        ValueError: a mask that is no rectangle of 0 and 1; scored log-ratios that are not finite; ratios of another
            shape, negative or missing ones.
    """
    q_bt = read_tokens(q, read_mask(mask), "q")
    r_bt = np.asarray(sampler, dtype=np.float64)
    if r_bt.shape not in ((), (len(q_bt), 1), q_bt.shape) or not (r_bt >= 0).all():
        raise ValueError(
            f"sampler holds ratios of 0 or more of shape {list(q_bt.shape)} or {[len(q_bt), 1]}, got {sampler!r}"
        )
    r = np.clip(r_bt, 1e-8, np.exp(20)) * np.ones((len(q_bt), 1))
    return np.asarray(np.clip(q_bt, -20, 20).sum(1) + np.log(r).sum(1))


def mean_log_ratio(q: ArrayLike, mask: ArrayLike) -> Float:
    """Log-ratio of a completion as a mean over its tokens.

        q_b = sum_t m_bt q_bt / max(L_b, 1)

    Source: https://arxiv.org/abs/2507.18071 (GSPO); importance_sampling_level="sequence".

    Args:
        q: [b, t] log-ratios; mask: [b, t] 1 where scored.

    Returns:
        [b]; 0 for a completion of which nothing is scored.

    Raises:
        ValueError: a mask that is no rectangle of 0 and 1; scored log-ratios that are not finite.
    """
    mask_bt = read_mask(mask)
    return np.asarray(read_tokens(q, mask_bt, "q").sum(1) / np.maximum(mask_bt.sum(1), 1))


def geometric(q: ArrayLike, advantage: ArrayLike, mask: ArrayLike, low: float, high: float) -> Float:
    """Factor of the tokens under the geometric mean of their clipped ratios: GMPO.

        c_bt = m_bt alive_bt s_b A_b / max(L_b, 1),   s_b = e^(mean_t clipped q_bt)
        clipped q = min(q, high) and alive = [q <= high] if A > 0;   max(q, -low) and [q >= -low] else

    The bounds are on the log-ratio. A clipped token is still in the mean. Divide by B K: ``policy_tokens.by_batch``.
    Source: https://arxiv.org/abs/2507.20673 (GMPO); ``GMPOTrainer._compute_loss``.

    Args:
        q: [b, t] log-ratios; advantage: [b] A; mask: [b, t] 1 where the mean is taken: the scored tokens, without those
            of low entropy if such are masked.
        low, high: epsilon_low and epsilon_high, positive.

    Returns:
        [b, t], 0 where the mask is 0.

    Raises:
        ValueError: a mask that is no rectangle of 0 and 1; numbers that are not finite; an option that is not positive.
    """
    mask_bt = read_mask(mask)
    a_b = read_numbers(advantage, mask_bt.shape[:1], "advantage")
    q_bt, rising = read_tokens(q, mask_bt, "q"), a_b[:, None] > 0
    held = np.where(rising, np.minimum(q_bt, positive(high, "high")), np.maximum(q_bt, -positive(low, "low")))
    s_b = np.exp(mean_log_ratio(held, mask_bt))
    return np.asarray(mask_bt * (held == q_bt) * (s_b * a_b / np.maximum(mask_bt.sum(1), 1))[:, None])


def old_policy_is_current(accumulation: int, steps_per_generation: int, iterations: int) -> bool:
    """Whether TRL takes the current log-probabilities for those of the old policy, so that every ratio is 1.

        K mod (S I) = 0

    Else it computes them when it generates, and every window after the first is off-policy. With another sampler and
    its correction it always does. Source: ``GRPOTrainer._generate_and_score_completions``.

    Args:
        accumulation: K micro-batches per optimizer step; steps_per_generation: S; iterations: I, num_iterations.

    Returns:
        True if so.

    Raises:
        ValueError: one of them is below 1.
    """
    if min(accumulation, steps_per_generation, iterations) < 1:
        raise ValueError(
            f"K, S and I must be at least 1, got {accumulation}, {steps_per_generation} and {iterations}: count them"
        )
    return accumulation % (steps_per_generation * iterations) == 0


def _ratio_and_advantage(q: ArrayLike, advantage: ArrayLike) -> tuple[Float, Float]:
    q_any, a_any = np.asarray(q, dtype=np.float64), np.asarray(advantage, dtype=np.float64)
    widths = zip(reversed(q_any.shape), reversed(a_any.shape))
    if any(n != m and 1 not in (n, m) for n, m in widths):
        raise ValueError(
            f"advantages must fit the log-ratios, got shapes {list(a_any.shape)} and {list(q_any.shape)}: give one for "
            "each, or [b, 1] for [b, t]"
        )
    if not (np.isfinite(q_any).all() and np.isfinite(a_any).all()):
        raise ValueError(f"log-ratios and advantages must be finite, got {q!r} and {advantage!r}: mask such tokens")
    return np.exp(q_any), a_any

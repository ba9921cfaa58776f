"""What a reference becomes that follows the policy it is compared with, as parameters in each window of a run.

Letters: t = optimizer step, counted from 1; w = window, the one that ends with step w + 1; theta_t = parameters of the
policy after step t, theta_0 those it began with; r_w = of the reference in window w. Arrays of any one shape, float64.
What a token then weighs is the loss's own form at the log-probabilities of r_w.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ._read import between, positive, read_numbers
from ._window import Float


def synchronized(policy: Sequence[ArrayLike], reference: ArrayLike, alpha: float, every: int) -> list[Float]:
    """A reference that is mixed with the policy behind every so many steps.

        r_w = (1 - alpha) r_(w - 1) + alpha theta_w    where every divides w, else r_(w - 1)

    Source: https://arxiv.org/abs/2404.09656 (TR-DPO), equation 2; ``SyncRefModelCallback``, trl/trainer/callbacks.py.

    Args:
        policy: [w] theta_w, the policy in window w; reference: r_0.
        alpha: ref_model_mixup_alpha, 0 to 1; every: ref_model_sync_steps, from 1.

    Returns:
        [w] r_w.

    Raises:
        ValueError: arrays of other shapes or that are not finite, or an option outside its range.
    """
    thetas = _read(policy, reference)
    share, found = between(0, alpha, 1, "alpha"), [thetas[-1]]
    for w in range(1, len(policy)):
        found.append((1 - share) * found[-1] + share * thetas[w] if w % _count(every, "every") == 0 else found[-1])
    return found


def bias_corrected(
    policy: Sequence[ArrayLike],
    reference: ArrayLike,
    *,
    every: int,
    after: int,
    reference_every: int,
    reference_after: int,
    ema_power: float = 0.5,
    bias_power: float = 0.2,
    lag: float = 10,
    multiplier: float = 1.0,
    least: float = 0.0,
    began: bool = True,
) -> list[Float]:
    """A reference that takes the bias-corrected average of the policy (BEMA) behind every so many steps.

        ema_t = (1 - beta_t) ema_(t - 1) + beta_t theta_t        bema_t = ema_t + alpha_t (theta_t - theta_after)
        beta_t = max(least, (lag + multiplier t)^-ema_power)      alpha_t = (lag + multiplier t)^-bias_power
        r_w = bema_w    where reference_every divides w - reference_after >= 0 and w > 0, else r_(w - 1)

    The average is taken where every divides t - after > 0, and stays between; ema_after = theta_after. Until then bema
    is theta_0; or theta_after from that step on, which the equations give there, where began is False.
    Source: https://arxiv.org/abs/2508.00180 (BEMA); ``BEMACallback``, trl/trainer/callbacks.py and
    trl/experimental/bema_for_ref_model/callback.py, whose names are update_freq, update_after, ref_model_update_freq,
    ref_model_update_after, ema_power, bias_power, lag, multiplier and min_ema_multiplier, in this order.

    Policy, reference, result and errors as for ``synchronized``.
    """
    thetas = _read(policy, reference)
    found, ema, origin, bema = [thetas[-1]], thetas[0], thetas[0], thetas[0]
    for t in range(1, len(policy)):
        age = positive(lag + multiplier * t, "lag + multiplier t")
        if t == after:
            ema = origin = thetas[t]
            bema = bema if began else thetas[t]
        elif t > after and (t - after) % _count(every, "every") == 0:
            beta = max(least, age**-ema_power)
            ema = (1 - beta) * ema + beta * thetas[t]
            bema = ema + age**-bias_power * (thetas[t] - origin)
        due = t >= reference_after and (t - reference_after) % _count(reference_every, "reference_every") == 0
        found.append(bema if due else found[-1])
    return found


def _read(policy: Sequence[ArrayLike], reference: ArrayLike) -> list[Float]:
    """The policy's in turn and the reference's behind them."""
    if not len(policy):
        raise ValueError("policy needs the parameters of a window, got none")
    shape = np.shape(reference)
    return [read_numbers(x, shape, "policy") for x in policy] + [read_numbers(reference, shape, "reference")]


def _count(steps: int, name: str) -> int:
    if steps < 1 or steps != int(steps):
        raise ValueError(f"{name} must be a whole number from 1, got {steps}: how many steps lie between two updates")
    return int(steps)

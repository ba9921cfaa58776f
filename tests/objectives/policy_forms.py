"""Micro-batches of completions, and the weights of their tokens put together from the closed forms of GRPO."""

import numpy as np

from closed_forms import kl, policy, policy_tokens
from tests.closed_forms.tokens import draw_advantages

LOSS_TYPES = ["grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo"]
COUNTS = (16, 13, 3, 2)  # max_completion_length, tokens of the generation, steps per generation, accumulation


class Drawn:
    """B completions, perhaps with nothing to score, at log-ratios that are no kink of a clip."""

    def __init__(self, seed, rows, width):
        rng = np.random.default_rng(seed)
        self.mask = rng.random((rows, width)) < 0.7
        self.old = -rng.integers(1, 2**20, (rows, width)) / 2**21 - 1 / 2
        self.logp = self.old + rng.integers(-(2**20), 2**20, (rows, width)) / 2**21
        self.reference = self.logp + rng.integers(-(2**20), 2**20, (rows, width)) / 2**21
        self.advantage = draw_advantages(rng, rows)
        self.kept = rng.random((rows, width)) < 0.7
        self.token_sampler = rng.integers(0, 129, (rows, width)) / 64
        self.row_sampler = rng.integers(0, 129, (rows, 1)) / 64


def share(loss_type, mask):
    """[b, 1] from the table in ``policy_tokens``."""
    longest, generated, steps, accumulation = COUNTS
    return {
        "grpo": lambda: policy_tokens.by_completion(mask, accumulation),
        "sapo": lambda: policy_tokens.by_completion(mask, accumulation),
        "bnpo": lambda: policy_tokens.by_micro_batch(mask, accumulation),
        "dr_grpo": lambda: policy_tokens.by_slot(mask, longest, accumulation),
        "luspo": lambda: policy_tokens.by_batch(mask, accumulation),
    }.get(loss_type, lambda: policy_tokens.by_generation(mask, generated, steps, accumulation))()


def policy_term(drawn, loss_type, level, low, high, delta, kept, sampler):
    """[b, t] from the table in ``policy_tokens``."""
    mask, q_bt, a_b = drawn.mask, drawn.logp - drawn.old, drawn.advantage[:, None]
    q = policy.mean_log_ratio(q_bt, mask)[:, None] if level == "sequence" else q_bt
    if loss_type == "vespo":
        log_w = policy.vespo_log_weight(q_bt, mask, sampler)
        factor = policy.vespo(log_w, drawn.advantage, (2, 3), (3, 2))[:, None]
        return policy_tokens.at_tokens(mask, factor, kept)
    if loss_type == "cispo":
        return policy_tokens.at_tokens(mask, policy.cispo(q, a_b, high), kept * sampler)
    if loss_type == "sapo":
        factor = policy.sapo(q, a_b, 1.0, 1.05)
    else:
        factor = policy.clipped(q, a_b, low, high, np.inf if delta is None else delta)
    place = policy_tokens.at_sequences if level == "sequence" else policy_tokens.at_tokens
    return place(mask, factor, kept * sampler)


def kl_term(drawn, level, beta, corrected):
    """[b, t] of the penalty."""
    q, u = drawn.logp - drawn.old, drawn.logp - drawn.reference
    if not corrected:
        return drawn.mask * kl.plain(u, beta)
    if level == "token":
        return drawn.mask * kl.corrected(u, q, beta)
    return kl.corrected_by_sequence(u, q, drawn.mask, beta)


def bounds(loss_type):
    """Largest argument of an exponential, largest addend of a weight: |A| <= 2, |q| and |u| <= 1/2, ratios <= 2.

    VESPO's log w is a sum of 12 terms of up to log 10^8, and (k + lam w) phi <= 9 times its error is the factor's.
    """
    return (12 * np.log(1e8), 2 * 9) if loss_type == "vespo" else (3, 16)

"""Micro-batches of pairs, and the weights of their tokens put together from the closed forms of DPO."""

import numpy as np

from closed_forms import dpo, preference
from tests.closed_forms.tokens import draw_mask

ON_SCORES = ["sigmoid", "hinge", "ipo", "robust", "exo_pair", "discopop", "sigmoid_norm"]
ON_RATIOS = ["nca_pair", "bco_pair", "sppo_hard", "aot", "aot_unpaired", "apo_zero", "apo_down"]
DIVERGENCES = ["reverse_kl", "forward_kl", "js_divergence", "alpha_divergence"]
TAU = 0.25
ALPHA = 0.5


class Drawn:
    """P pairs of completions of up to five tokens; no two log-ratios or margins are alike, no margin sits on a kink."""

    def __init__(self, seed, pairs):
        rng = np.random.default_rng(seed)
        self.masks = draw_mask(rng, pairs, 5), draw_mask(rng, pairs, 4)
        self.policy = [-rng.integers(1, 2**20, m.shape) / 2**21 for m in self.masks]
        self.reference = [-rng.integers(1, 2**20, m.shape) / 2**21 for m in self.masks]
        self.lengths = [m.sum(1) for m in self.masks]
        self.shared = np.minimum(*self.lengths)


def closed_form(drawn, loss_type, beta, epsilon, divergence, ld_alpha):
    """[2][p, t] weights, put together as the module's docstring says."""
    factors = dpo.length_desensitized(*drawn.masks, ld_alpha)
    u = [dpo.log_ratio(logp, r, d) for logp, r, d in zip(drawn.policy, drawn.reference, factors)]
    scores = [dpo.completion_score(loss_type, v, n, divergence, ALPHA) for v, n in zip(u, drawn.lengths)]
    if loss_type == "aot":
        policy, base = (
            np.subtract(*[dpo.log_ratio(logp, np.zeros_like(logp), d) for logp, d in zip(model, factors)])
            for model in (drawn.policy, drawn.reference)
        )
        weights = preference.aot(policy, base, beta, epsilon)
        weights = [weights, -weights]
    else:
        weights = dpo.pair_weights(loss_type, scores[0][0], scores[1][0], beta, epsilon, TAU)
    return [d * (w * s)[:, None] for d, w, (_, s) in zip(factors, weights, scores)]


def bounds(drawn, loss_type, beta, epsilon, divergence):
    """Largest argument of an exponential, and largest addend of a weight: sums of 5 numbers below 1/2 are below 5/2."""
    u = 5 / 2
    x = {"reverse_kl": u, "forward_kl": np.exp(u), "js_divergence": u, "alpha_divergence": 2 * np.exp(u / 2)}
    s = {"reverse_kl": 1, "forward_kl": np.exp(u), "js_divergence": 1, "alpha_divergence": np.exp(u / 2)}
    z, slope = 2 * beta * x[divergence], s[divergence]
    addend = {
        "robust": beta / (1 - 2 * epsilon),
        "ipo": 2 * (1 / (2 * beta) + z / beta),
        "sppo_hard": 2 * (1 / (2 * beta) + u),
        "exo_pair": beta * (z - np.log(epsilon)),
        "discopop": beta * (1 + (1 + 1 / TAU) * (np.exp(z) + z + 1)),
    }
    return z / TAU, slope * addend.get(loss_type, beta)

"""The losses of the DPO family in torch, as their papers and TRL define them, from the log-probabilities of tokens."""

import math

import torch
from torch.nn.functional import logsigmoid


def log_ratios(policy, reference, mask, shared, ld_alpha):
    """[p] sums over the completion; tokens past the first ``shared`` of a row count ld_alpha times."""
    position = torch.cumsum(mask, 1)
    head = mask * (position <= shared[:, None])
    tail = mask * (position > shared[:, None])
    difference = policy - reference
    return (difference * head).sum(1) + ld_alpha * (difference * tail).sum(1)


def divergence_score(u, divergence, alpha):
    """[p] f'(e^u)."""
    t = torch.exp(u)
    return {
        "reverse_kl": lambda: torch.log(t),
        "forward_kl": lambda: 1 - 1 / t,
        "js_divergence": lambda: torch.log(2 * t / (1 + t)),
        "alpha_divergence": lambda: (t ** (alpha - 1) - 1) / (alpha - 1),
    }[divergence]()


def exo(z, epsilon):
    """[p] KL from (sigma(z), 1 - sigma(z)) to (1 - epsilon, epsilon)."""
    q = torch.sigmoid(z)
    return q * (logsigmoid(z) - math.log(1 - epsilon)) + (1 - q) * (logsigmoid(-z) - math.log(epsilon))


def smoothed(z, epsilon):
    """[p] cross-entropy of a pair that is swapped with probability epsilon."""
    return -(1 - epsilon) * logsigmoid(z) - epsilon * logsigmoid(-z)


def discopop(z, tau):
    """[p] blend of the logistic and the exponential loss."""
    blend = torch.sigmoid(z / tau)
    return (1 - blend) * -logsigmoid(z) + blend * torch.exp(-z)


def pair_loss(loss_type, u_c, u_r, s_c, s_r, n_c, n_r, margin, base, beta, epsilon, tau):
    """[p] losses: u log-ratios, s scores, n lengths, margin and base those of the policy and of the reference."""
    z = beta * (s_c - s_r)
    by_length = s_c / n_c - s_r / n_r
    return {
        "sigmoid": lambda: -logsigmoid(z),
        "hinge": lambda: torch.clamp(1 - z, min=0),
        "ipo": lambda: (by_length - 1 / (2 * beta)) ** 2,
        "exo_pair": lambda: exo(z, epsilon),
        "nca_pair": lambda: -logsigmoid(beta * u_c) - logsigmoid(-beta * u_c) / 2 - logsigmoid(-beta * u_r) / 2,
        "robust": lambda: (-(1 - epsilon) * logsigmoid(z) + epsilon * logsigmoid(-z)) / (1 - 2 * epsilon),
        "bco_pair": lambda: -logsigmoid(beta * u_c) - logsigmoid(-beta * u_r),
        "sppo_hard": lambda: (u_c - 1 / (2 * beta)) ** 2 + (u_r + 1 / (2 * beta)) ** 2,
        "aot": lambda: smoothed(beta * (torch.sort(margin).values - torch.sort(base).values), epsilon),
        "aot_unpaired": lambda: smoothed(beta * (torch.sort(u_c).values - torch.sort(u_r).values), epsilon),
        "apo_zero": lambda: 1 - torch.sigmoid(beta * u_c) + torch.sigmoid(beta * u_r),
        "apo_down": lambda: torch.sigmoid(beta * u_c) + 1 - torch.sigmoid(beta * (u_c - u_r)),
        "discopop": lambda: discopop(z, tau),
        "sigmoid_norm": lambda: -logsigmoid(beta * by_length),
    }[loss_type]()

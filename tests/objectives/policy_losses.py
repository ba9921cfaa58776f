"""The losses of GRPO and RLOO in torch, as their papers and TRL define them. One micro-batch; B rows, T positions."""

import math

import torch


def surrogate(loss_type, ratio, advantage, logp, low, high, delta):
    """[b, t] or [b, 1] losses of the policy alone."""
    if loss_type == "cispo":
        return -torch.clamp(ratio, max=high).detach() * advantage * logp
    if loss_type == "sapo":
        tau = torch.where(advantage > 0, 1.0 * torch.ones_like(advantage), 1.05 * torch.ones_like(advantage))
        return -4 / tau * torch.sigmoid(tau * (ratio - 1)) * advantage
    bounded = ratio if delta is None else torch.clamp(ratio, max=delta)
    return -torch.minimum(bounded * advantage, torch.clamp(ratio, 1 - low, 1 + high) * advantage)


def gamma_weighted(log_ratio, advantage, logp, mask, sampler):
    """[b, t] losses of VESPO."""
    log_w = (log_ratio.clamp(-20, 20) * mask).sum(1, keepdim=True)
    if sampler is not None:
        log_w = log_w + torch.log(sampler).clamp(math.log(1e-8), 20).sum(1, keepdim=True)
    log_w = log_w.clamp(math.log(1e-8), 20)
    k, lam = (torch.where(advantage >= 0, up, down).double() for up, down in ((2.0, 3.0), (3.0, 2.0)))
    return -(torch.exp(lam + k * log_w - lam * torch.exp(log_w))).detach() * advantage * logp


def penalty(logp, reference):
    """[b, t] unbiased estimate of the divergence that is never negative."""
    return torch.exp(reference - logp) - (reference - logp) - 1


def aggregate(loss_type, losses, mask, longest, generated, steps, accumulation):
    """What one micro-batch adds to the window."""
    losses = losses * mask
    lengths = mask.sum(1).clamp(min=1)
    if loss_type in ("grpo", "sapo"):
        return (losses.sum(1) / lengths).mean() / accumulation
    if loss_type == "bnpo":
        return losses.sum() / mask.sum().clamp(min=1) / accumulation
    if loss_type == "dr_grpo":
        return losses.sum() / (len(losses) * longest) / accumulation
    if loss_type == "luspo":
        return losses.sum(1).mean() / accumulation
    return losses.sum() * steps / (max(generated, 1) * accumulation)


def grpo(
    loss_type, level, logp, old, reference, advantage, mask, low, high, delta, beta, corrected, kept, sampler, counts
):
    """The whole loss of a micro-batch: ``kept`` multiplies the policy, ``sampler`` too, or enters VESPO's weight."""
    log_ratio, advantage = logp - old, advantage[:, None]
    if level == "sequence":
        ratio = torch.exp((log_ratio * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1))
    else:
        ratio = torch.exp(log_ratio)
    if loss_type == "vespo":
        losses = gamma_weighted(log_ratio, advantage, logp, mask, sampler) * kept
    else:
        losses = surrogate(loss_type, ratio, advantage, logp, low, high, delta) * kept * sampler
    losses = losses + beta * penalty(logp, reference) * (ratio if corrected else 1)
    return aggregate(loss_type, losses, mask, *counts)

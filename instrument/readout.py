"""From gradients to weights: how much of each target's own gradient is in the gradient that arrived.

Letters: n read positions, h hidden size, k targets that share one input.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Weights(NamedTuple):
    """What was read at n positions.

    Attributes:
        weight: [n] w = <g, r> / |r|^2, in units of the loss's own gradient (a token mean over N targets gives 1/N).
        cosine: [n] between g and r; 1 when g is a positive multiple of r, nan where g or r is exactly 0.
        remainder: [n] |g - w r| / |r|, the part of g that no multiple of r explains, in the unit of the weight.
    """

    weight: Tensor
    cosine: Tensor
    remainder: Tensor


def read_weights(gradient_nh: Tensor, unit_nh: Tensor) -> Weights:
    """Project gradients on the unit gradients of their targets.

    Args:
        gradient_nh: [n, h] gradient that arrived.
        unit_nh: [n, h] gradient of -log p(target) at the same place.

    Returns:
        Weights in float64. A gradient of exactly 0 weighs exactly 0; where the unit gradient is 0 the weight is nan,
        since nothing can be told.
    """
    g_nh, r_nh = gradient_nh.double(), unit_nh.double()
    dot_n = (g_nh * r_nh).sum(-1)
    square_n = (r_nh * r_nh).sum(-1)
    weight_n, norm_n = dot_n / square_n, square_n.sqrt()
    cosine_n = dot_n / (g_nh.norm(dim=-1) * norm_n)
    remainder_n = torch.addcmul(g_nh, weight_n[:, None], r_nh, value=-1).norm(dim=-1) / norm_n
    return Weights(weight_n, cosine_n, remainder_n)


class Solution(NamedTuple):
    """What was read at one input that has several targets.

    Attributes:
        weight: [k] least-squares weights; exactly 0 where rounding explains what was found.
        cosine: scalar, between the gradient and the part of it that the weights explain.
        remainder: scalar, |g - sum_k w_k r_k| / |r|, with |r| the root mean square of the |r_k|.
        condition: condition number of the unit gradients after each is scaled to length 1.
    """

    weight: Tensor
    cosine: float
    remainder: float
    condition: float


def solve_weights(gradient_h: Tensor, unit_kh: Tensor, condition_limit: float = 1e6, place: str = "") -> Solution:
    """Split the gradient of one input among the k targets that it predicts, by least squares.

    Args:
        gradient_h: [h] gradient that arrived at the input.
        unit_kh: [k, h] gradient of -log p of each target at that input.
        condition_limit: rounding is amplified by the condition number; above this limit the answer is refused.
        place: where this is, for the error.

    Raises:
        ValueError: more than h - 1 targets (any gradient would be explained, so no remainder could show a fault), a
            target without a direction, or an ill-conditioned system.
    """
    g_h, r_kh = gradient_h.double(), unit_kh.double()
    k, h = r_kh.shape
    if k > h - 1:
        raise ValueError(
            f"{place}{k} targets share one input, but a hidden size of {h} can tell at most {h - 1} apart: "
            "use a larger probe or fewer targets per input"
        )
    norm_k = r_kh.norm(dim=-1)
    if not bool(norm_k.all()):
        raise ValueError(
            f"{place}{int((norm_k == 0).sum())} of {k} targets of one input have a unit gradient of 0, since the "
            "model is certain of them: their weights cannot be told; use another seed"
        )
    singular = torch.linalg.svdvals(r_kh / norm_k[:, None])
    condition = float(singular[0] / singular[-1])
    if not condition <= condition_limit:
        raise ValueError(
            f"{place}the unit gradients of {k} targets of one input have condition number {condition:.3g}, over the "
            f"limit of {condition_limit:.3g}: their weights cannot be told apart; use another seed or fewer targets"
        )
    scaled_k = torch.linalg.lstsq((r_kh / norm_k[:, None]).T, g_h[:, None]).solution[:, 0]
    # What rounding of a float32 loss leaves on a target without weight: amplified by the condition, yet no weight.
    noise = 2**-20 * condition * float(g_h.norm())
    weight_k = torch.where(scaled_k.abs() <= noise, 0.0, scaled_k) / norm_k
    explained_h = weight_k @ r_kh
    norms = float(g_h.norm() * explained_h.norm())
    cosine = float(g_h @ explained_h) / norms if norms else float("nan")
    remainder = float((g_h - explained_h).norm() / norm_k.pow(2).mean().sqrt())
    return Solution(weight_k, cosine, remainder, condition)


def unexplained(read: Weights, amplification_n: Tensor) -> Tensor:
    """[n] positions where no multiple of r explains the gradient: far above rounding, far below a real second term."""
    return read.remainder > 1e-4 * amplification_n.clamp(min=1.0) * read.weight.abs()


def with_uniform(
    read: Weights, odd_n: Tensor, gradient_oh: Tensor, unit_oh: Tensor, uniform_oh: Tensor
) -> tuple[Weights, Tensor, Tensor]:
    """Explain the odd positions by a second direction, that of label smoothing, where it does explain them.

        g = w r + b u      (least squares, two by two)

    Args:
        read: [n] what one direction gave.
        odd_n: [n] positions to look at again; o of them.
        gradient_oh: [o, h] gradient that arrived.
        unit_oh: [o, h] r, gradient of -log p(target).
        uniform_oh: [o, h] u, gradient of -mean_v log p(v).

    Returns:
        read with the odd positions replaced where two directions leave less than half of the remainder; b [n], which
        is 0 everywhere else; and [n] by how much telling the two apart amplifies a relative error of the gradient,
        |r| / (|u| sin(r, u)), at least 1.
    """
    g_oh, r_oh, u_oh = gradient_oh.double(), unit_oh.double(), uniform_oh.double()
    rr_o, uu_o, ru_o = (r_oh * r_oh).sum(-1), (u_oh * u_oh).sum(-1), (r_oh * u_oh).sum(-1)
    gr_o, gu_o = (g_oh * r_oh).sum(-1), (g_oh * u_oh).sum(-1)
    determinant_o = rr_o * uu_o - ru_o * ru_o
    weight_o = (gr_o * uu_o - gu_o * ru_o) / determinant_o
    share_o = (gu_o * rr_o - gr_o * ru_o) / determinant_o
    explained_oh = weight_o[:, None] * r_oh + share_o[:, None] * u_oh
    cosine_o = (g_oh * explained_oh).sum(-1) / (g_oh.norm(dim=-1) * explained_oh.norm(dim=-1))
    remainder_o = (g_oh - explained_oh).norm(dim=-1) / rr_o.sqrt()
    better_o = remainder_o < read.remainder[odd_n] / 2
    uniform_n, condition_n = torch.zeros_like(read.weight), torch.ones_like(read.weight)
    uniform_n[odd_n] = torch.where(better_o, share_o, 0.0)
    condition_o = rr_o / determinant_o.sqrt()
    condition_n[odd_n] = torch.where(better_o, condition_o.clamp(min=1.0), 1.0)
    found = []
    for before_n, after_o in zip(read, (weight_o, cosine_o, remainder_o)):
        after_n = before_n.clone()
        after_n[odd_n] = torch.where(better_o, after_o, before_n[odd_n])
        found.append(after_n)
    return Weights(*found), uniform_n, condition_n

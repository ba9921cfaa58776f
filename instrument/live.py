"""The weight of every token at the final hidden state of a user's own model, whatever its head does.

There the unit gradient of a target is r = J^T (softmax(z) - onehot(y)), with z the logits and J the Jacobian of the
head: the head's matrix, and the soft-cap, scale or transform behind it. The softmax runs over slices of the vocabulary
with a running maximum, so the logits of all tokens never exist at once.

Letters: n positions, h hidden size, v a slice of the vocabulary.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import torch
from torch import Tensor, nn

from . import readout

Slice = tuple[Tensor, Callable[[Tensor], Tensor]]


def multiplies(module: Any) -> TypeGuard[nn.Linear]:
    """Whether a module is nn.Linear and no other kind of it; fully_shard's class of one has the same forward."""
    return isinstance(module, nn.Linear) and type(module).forward is nn.Linear.forward


class LinearHead:
    """logits = W h + b, and nothing behind it."""

    def __init__(self, linear: nn.Linear) -> None:
        self.linear = linear
        self.vocabulary = linear.weight.shape[0]
        self.slices = True
        self.held = 1
        self.largest = torch.zeros(())

    def slice(self, hidden_nh: Tensor, start: int, stop: int) -> Slice:
        """Logits [n, v] of a slice of the vocabulary, and the map from d/d logits [n, v] to d/d hidden [n, h]."""
        weight_vh = self.linear.weight.detach()[start:stop].to(hidden_nh.dtype)
        bias = getattr(self.linear, "bias", None)
        bias_v = None if bias is None else bias.detach()[start:stop].to(hidden_nh.dtype)
        return nn.functional.linear(hidden_nh, weight_vh, bias_v), lambda slope_nv: slope_nv @ weight_vh

    def column(self, hidden_nh: Tensor, target_n: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Logit [n] of each target, and its gradient [n, h]; nothing as wide as the vocabulary is made of them."""
        rows_nh = self.linear.weight.detach()[target_n].to(hidden_nh.dtype)
        logit_n = (rows_nh * hidden_nh).sum(-1)
        bias = getattr(self.linear, "bias", None)
        return (logit_n if bias is None else logit_n + bias.detach()[target_n].to(hidden_nh.dtype)), rows_nh

    def note_largest(self, columns_nh: Tensor) -> None:
        """largest = max_v |W_v|, taken once: it only scales a tolerance, and the weights of a run move little."""
        if not self.largest:
            self.largest = self.linear.weight.detach().norm(dim=-1).max().double()


class ReplayedHead:
    """Any head: `run` maps hidden states [1, n, h] to logits [1, n, v] and is differentiated by autograd.

    Args:
        run: the head.
        vocabulary: size of its last axis.
        matrix: the Linear in it of which a slice may stand for the whole, when all behind it is element-wise.
    """

    def __init__(self, run: Callable[[Tensor], Tensor], vocabulary: int, matrix: nn.Linear | None) -> None:
        self.run, self.vocabulary, self.matrix = run, vocabulary, matrix
        self.slices = matrix is not None
        # Of each slice autograd keeps up to four tensors: a soft-cap divides, takes tanh and multiplies.
        self.held = 4
        self.largest = torch.zeros(())

    def slice(self, hidden_nh: Tensor, start: int, stop: int) -> Slice:
        """As LinearHead.slice."""
        hidden_nh = hidden_nh.detach().requires_grad_(True)
        with torch.enable_grad():
            if self.matrix is None:
                logits_nv = self.run(hidden_nh[None])[0][:, start:stop]
            else:
                with OnlySlice(self.matrix, start, stop):
                    logits_nv = self.run(hidden_nh[None])[0]

        def pull(slope_nv: Tensor) -> Tensor:
            return torch.autograd.grad(logits_nv, hidden_nh, slope_nv.to(logits_nv.dtype), retain_graph=True)[0]

        # A copy, since whoever takes it writes into it and the graph may need its own.
        return logits_nv.detach().to(hidden_nh.dtype, copy=True), pull

    def column(self, hidden_nh: Tensor, target_n: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """As LinearHead.column, slice by slice of the vocabulary."""
        logit_n, column_nh = torch.zeros_like(hidden_nh[:, 0]), torch.zeros_like(hidden_nh)
        for start in range(0, self.vocabulary, width):
            stop = min(start + width, self.vocabulary)
            inside_n = (target_n >= start) & (target_n < stop)
            if bool(inside_n.any()):
                logits_nv, pull = self.slice(hidden_nh, start, stop)
                at = (inside_n, target_n[inside_n] - start)
                logit_n[inside_n] = logits_nv[at]
                logits_nv.zero_()[at] = 1
                column_nh += pull(logits_nv)
                del logits_nv, pull
        return logit_n, column_nh

    def note_largest(self, columns_nh: Tensor) -> None:
        """largest = that of all targets so far: the whole Jacobian is never formed."""
        self.largest = torch.maximum(self.largest.to(columns_nh.device), columns_nh.double().norm(dim=-1).max())


class OnlySlice:
    """While entered, a Linear gives only some of its outputs."""

    def __init__(self, linear: Any, start: int, stop: int) -> None:
        self.linear, self.start, self.stop = linear, start, stop

    def __enter__(self) -> None:
        bias = None if self.linear.bias is None else self.linear.bias[self.start : self.stop]
        weight = self.linear.weight[self.start : self.stop]
        self.kept = self.linear.__dict__.get("forward")
        self.linear.forward = lambda x: nn.functional.linear(x, weight, bias)

    def __exit__(self, *_: object) -> None:
        restore(self.linear, self.kept)


def restore(module: nn.Module, kept: Any) -> None:
    """Put back the `forward` that an instance had of its own, or take the borrowed one off."""
    if kept is None:
        del module.forward
    else:
        module.forward = kept


def chunk(positions: int, vocabulary: int, budget: int = 2**20) -> tuple[int, int]:
    """How many positions and how many logits of each are held at once, for a budget of elements."""
    step = min(vocabulary, max(1024, budget // max(1, min(positions, 128))))
    return max(1, budget // step), step


class LiveReading(NamedTuple):
    """What was read at n positions; each [n], float64. See record.Row."""

    weight: Tensor
    cosine: Tensor
    remainder: Tensor
    uniform: Tensor
    loss: Tensor
    uniform_loss: Tensor
    amplification: Tensor


def read_live(
    head: LinearHead | ReplayedHead, hidden_nh: Tensor, gradient_nh: Tensor, target_n: Tensor, budget: int = 2**20
) -> LiveReading:
    """Read the weights of n targets from the gradient at their hidden states.

    Args:
        head: what turns hidden states into logits.
        hidden_nh: [n, h] hidden states of the forward.
        gradient_nh: [n, h] gradient that came back to them.
        target_n: [n] token id that each position is scored on.
        budget: elements of logits held at once, with all that a head makes on its way to them.
    """
    if not target_n.numel():
        return LiveReading(*(torch.zeros(0, dtype=torch.float64) for _ in LiveReading._fields))
    work = torch.float64 if hidden_nh.dtype == torch.float64 else torch.float32
    budget //= head.held
    step, width = chunk(hidden_nh.shape[0], head.vocabulary, budget)
    if not head.slices:
        step, width = max(1, budget // head.vocabulary), head.vocabulary
    # Each position holds some eight vectors as long as the hidden state, most of them in float64. With fewer than 128
    # at once the head's matrix would be read too often.
    step = min(step, max(128, budget // (16 * hidden_nh.shape[1])))
    parts = []
    for start in range(0, hidden_nh.shape[0], step):
        part = slice(start, start + step)
        parts.append(read_part(head, hidden_nh[part].to(work), gradient_nh[part], target_n[part], width))
    read = parts[0] if len(parts) == 1 else LiveReading(*(torch.cat(column) for column in zip(*parts)))
    return read._replace(amplification=read.amplification * head.largest)


def read_part(
    head: LinearHead | ReplayedHead, hidden_nh: Tensor, gradient_nh: Tensor, target_n: Tensor, width: int
) -> LiveReading:
    """As read_live, for as many positions as are held at once; amplification still lacks the largest column."""
    expected_nh, lse_n = expected_column(head, hidden_nh, width)
    logit_n, column_nh = head.column(hidden_nh, target_n, width)
    unit_nh = expected_nh - column_nh
    read = readout.read_weights(gradient_nh, unit_nh)
    head.note_largest(column_nh)
    amplification_n = 1 / torch.linalg.vector_norm(unit_nh, dim=-1, dtype=torch.float64)
    uniform_n, uniform_loss_n = torch.zeros_like(read.weight), torch.full_like(read.weight, math.nan)
    odd_n = readout.unexplained(read, amplification_n * head.largest)
    if bool(odd_n.any()):
        mean_oh, mean_o = mean_column(head, hidden_nh[odd_n], width)
        read, uniform_n, condition_n = readout.with_uniform(
            read, odd_n, gradient_nh[odd_n], unit_nh[odd_n], expected_nh[odd_n] - mean_oh
        )
        amplification_n = amplification_n * condition_n
        uniform_loss_n[odd_n] = (lse_n[odd_n] - mean_o).double()
        uniform_loss_n = torch.where(uniform_n == 0, math.nan, uniform_loss_n)
    return LiveReading(*read, uniform_n, (lse_n - logit_n).double(), uniform_loss_n, amplification_n)


def expected_column(head: LinearHead | ReplayedHead, hidden_nh: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """sum_v p_v dz_v/dh [n, h] and log sum_v exp z_v [n], slice by slice with a running maximum."""
    top_n = mass_n = mean_nh = hidden_nh[:, :0]
    for start in range(0, head.vocabulary, width):
        logits_nv, pull = head.slice(hidden_nh, start, min(start + width, head.vocabulary))
        new_n = torch.maximum(top_n, logits_nv.amax(-1)) if start else logits_nv.amax(-1)
        share_nv = logits_nv.sub_(new_n[:, None]).exp_()
        new_mass_n, new_mean_nh = share_nv.sum(-1), pull(share_nv)
        if start:
            shrink_n = (top_n - new_n).exp_()
            new_mass_n += mass_n * shrink_n
            new_mean_nh += mean_nh * shrink_n[:, None]
        top_n, mass_n, mean_nh = new_n, new_mass_n, new_mean_nh
        # Or this slice would still be there while the next one is made.
        del logits_nv, share_nv, pull
    return mean_nh / mass_n[:, None], top_n + mass_n.log()


def mean_column(head: LinearHead | ReplayedHead, hidden_nh: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Mean over the vocabulary of dz_v/dh [n, h] and of z_v [n]."""
    total_nh, total_n = torch.zeros_like(hidden_nh), torch.zeros_like(hidden_nh[:, 0])
    for start in range(0, head.vocabulary, width):
        logits_nv, pull = head.slice(hidden_nh, start, min(start + width, head.vocabulary))
        total_n += logits_nv.sum(-1)
        total_nh += pull(logits_nv.fill_(1))
        del logits_nv, pull
    return total_nh / head.vocabulary, total_n / head.vocabulary

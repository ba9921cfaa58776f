"""The weight of every label at the logits of a head, from the gradient that arrives there.

One target is one label's own loss l over the k numbers z that the head gives it: a token's, or a row's.

    classes  l = -log softmax(z)_y        r = softmax(z) - onehot(y)
    labels   l = mean_k BCE(z_k, y_k)     r = (sigmoid(z) - y)/k
    values   l = mean_k (z_k - y_k)^2     r = 2 (z - y)/k

    w = <g, r>/|r|^2, so that a mean over N targets gives 1/N

Letters: b rows, t places of a row that have logits (1 where the row has them), n = b t, k classes, labels or values.
"""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from .leak_loss import IGNORED
from .live import LiveReading, ReplayedHead, read_live
from .readout import read_weights
from .record import Row

CLASSES, LABELS, VALUES = "classes", "labels", "values"


def kind_of(model: Any, labels: Tensor | None) -> str:
    """What a model of transformers is trained on: a classifier of rows says it, or goes by its labels."""
    if not type(model).__name__.endswith("ForSequenceClassification"):
        return CLASSES
    said = {"regression": VALUES, "multi_label_classification": LABELS, "single_label_classification": CLASSES}
    if model.config.problem_type is not None:
        return said[model.config.problem_type]
    if model.config.num_labels == 1:
        return VALUES
    return LABELS if labels is not None and labels.is_floating_point() else CLASSES


def read_rows(
    logits: Tensor, gradient: Tensor, micro_batch: int, labels: Tensor | None = None, kind: str = CLASSES
) -> list[Row]:
    """One row of a record for each row of the batch.

    Args:
        logits: [b, t, k], or [b, k] where a row has one target.
        gradient: what arrived there.
        micro_batch: number of the backward in which it came.
        labels: [b, t] or [b] classes in place, [b, k] or [b] labels or values. Without classes the gradient says which
            were trained: the entry of its class is the only negative one of r.
        kind: what they are.

    Raises:
        ValueError: labels or values are unknown, or are not one for each place.
    """
    b, k = logits.shape[0], logits.shape[-1]
    logits_nk, gradient_nk = logits.reshape(-1, k), gradient.reshape(-1, k)
    came_n = (gradient_nk != 0).any(-1)
    target_n, scored_n = gradient_nk.argmin(-1), came_n
    sides: tuple[Tensor, ...] = ()
    if kind != CLASSES:
        read = read_numbers(logits_nk, gradient_nk, numbers(labels, logits_nk), kind)
        target_n, scored_n = torch.full_like(target_n, -1), torch.ones_like(came_n)
    else:
        if labels is not None:
            label_n = one_each(labels, came_n)
            scored_n = label_n != IGNORED
            target_n = torch.where(scored_n, label_n, target_n)
        read = read_live(ReplayedHead(lambda logits_1nk: logits_1nk, k, None), logits_nk, gradient_nk, target_n)
        sides = uniform_sides(logits_nk, target_n)
    active_n = (came_n | scored_n).cpu()
    other = [0.0 if name in ("weight", "remainder", "uniform") else math.nan for name in LiveReading._fields]
    read = LiveReading(*(torch.where(active_n, x.cpu(), y).reshape(b, -1) for x, y in zip(read, other)))
    target_bt, scored_bt = target_n.reshape(b, -1).cpu(), scored_n.reshape(b, -1).cpu()
    rows = [row_of(micro_batch, *each) for each in zip(target_bt, scored_bt, zip(*read))]
    told = [dict(zip(("along", "across"), each)) for each in zip(*(x.cpu().reshape(b, -1).numpy() for x in sides))]
    return [replace(row, **each) for row, each in zip(rows, told)] if told else rows


def uniform_sides(logits_nk: Tensor, target_n: Tensor) -> tuple[Tensor, Tensor]:
    """Along and across, as in record.Row, of the gradient of -mean_v log p(v) beside each class's own."""
    p_nk = torch.softmax(logits_nk.double(), -1)
    r_nk = p_nk - nn.functional.one_hot(target_n, p_nk.shape[-1])
    u_nk = p_nk - 1 / p_nk.shape[-1]
    along_n = (u_nk * r_nk).sum(-1) / r_nk.square().sum(-1)
    return along_n, (u_nk - along_n[:, None] * r_nk).norm(dim=-1) / r_nk.norm(dim=-1)


def row_of(micro_batch: int, target_t: Tensor, scored_t: Tensor, read: tuple[Tensor, ...]) -> Row:
    """A row of a record; each target is put behind its place, since which token of the batch it is, is not asked."""
    found: dict[str, Any] = {name: values.numpy() for name, values in zip(LiveReading._fields, read)}
    return Row(
        ids=nn.functional.pad(target_t, (1, 0), value=-1).numpy(),
        micro_batch=micro_batch,
        target=target_t.numpy(),
        scored=scored_t.numpy(),
        intended=scored_t.numpy().copy(),
        backward_weight=found["weight"].copy(),
        **found,
    )


def read_numbers(logits_nk: Tensor, gradient_nk: Tensor, given_nk: Tensor, kind: str) -> LiveReading:
    """Weights of targets that are several labels or values each.

    Of a label sigmoid(z) is rounded relative to 1, which |r| sqrt(k) amplifies; of a value z - y relative to itself.
    """
    z_nk, k = logits_nk.double(), logits_nk.shape[-1]
    if kind == LABELS:
        unit_nk = (torch.sigmoid(z_nk) - given_nk) / k
        loss_n = nn.functional.binary_cross_entropy_with_logits(z_nk, given_nk, reduction="none").mean(-1)
        amplification_n = 1 / (unit_nk.norm(dim=-1) * k**0.5)
    else:
        unit_nk = 2 * (z_nk - given_nk) / k
        loss_n = (z_nk - given_nk).square().mean(-1)
        amplification_n = torch.where(unit_nk.any(-1), 1.0, math.inf).double()
    nothing_n = torch.zeros_like(loss_n)
    return LiveReading(
        *read_weights(gradient_nk, unit_nk), nothing_n, loss_n, torch.full_like(loss_n, math.nan), amplification_n
    )


def numbers(labels: Tensor | None, logits_nk: Tensor) -> Tensor:
    """Labels or values [n, k] in float64."""
    if labels is None:
        raise ValueError(
            "no labels passed through the model, so what its head is trained on is not known: "
            "call it with labels=, and let it compute the loss"
        )
    if labels.numel() != logits_nk.numel():
        raise ValueError(
            f"labels is {list(labels.shape)} but the logits of {logits_nk.shape[0]} rows have {logits_nk.shape[1]} "
            "numbers each: give a label or value for each of them"
        )
    return labels.reshape(logits_nk.shape).to(logits_nk.device).double()


def one_each(labels: Tensor, came_n: Tensor) -> Tensor:
    """Classes [n]."""
    if labels.numel() != came_n.numel() or labels.is_floating_point():
        raise ValueError(
            f"labels is {labels.dtype} of shape {list(labels.shape)} but the head scores {came_n.numel()} places: give "
            f"the class of each as a whole number, {IGNORED} where it is not scored"
        )
    return labels.reshape(-1).to(came_n.device)

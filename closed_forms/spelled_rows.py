"""Weights of one micro-batch of GOLD across tokenizers, when the distributions of both are put together wrongly.

Axes: b = row, n = place of it that predicts a token, v = word, h = entry of the final hidden state, g = group of tokens
that spell the same bytes, W = the head. A weight is what the gradient is in units of what it ought to be, along that:

    w_n = <W' x_n, W' u_n> / |W' u_n|^2

with x the push on the logits and u that of ``universal``, merged at the last token of a group ("bayesian"), words that
both know compared with each other, the end of sequence left out, at temperature 1. Each function returns the rows in
turn.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from . import universal
from ._window import Float

Pairs = Sequence[tuple[list[int], list[int]]]


class Side(NamedTuple):
    """A row as one of both spells it.

    Attributes:
        logits: [n, v]; start: place of its first token behind the prompt.
        said: ids of the completion with its end of sequence; ends: where each ends, in bytes.
    """

    logits: Float
    start: int
    said: list[int]
    ends: list[int]


class Known(NamedTuple):
    """Options of ``universal.hybrid_slope``, by its names."""

    pairs: Sequence[tuple[int, int]]
    beta: float
    weights: tuple[float, float]


Rows = Sequence[tuple[Side, Side]]


def spelled(rows: Rows) -> list[Float]:
    """As it should be: w = 1 at the tokens of the groups, 0 at the others."""
    weights = []
    for own, other in rows:
        row = np.zeros(len(own.logits))
        row[own.start - 1 + np.array([n for group, _ in pairs_of(own, other) for n in group], np.int64)] = 1.0
        weights.append(row)
    return weights


def merged_by_first(rows: Rows, head: Float, known: Known) -> list[Float]:
    """A group takes the distribution at its first token, times the probabilities of the later ones.

    Source: https://github.com/huggingface/trl/issues/5152
    """
    return in_units(rows, head, known, lambda own, other: pushed(own, other, known, pairs_of(own, other), "first", 1))


def compared_behind(rows: Rows, head: Float, known: Known) -> list[Float]:
    """Each token has the logits behind it, which predict the next. Source: https://github.com/huggingface/trl/pull/5905"""
    return in_units(rows, head, known, lambda own, other: pushed(own, other, known, pairs_of(own, other), "last", 0))


def in_one_group(rows: Rows, head: Float, known: Known) -> list[Float]:
    """No common end is found: the whole completion is a group. Source: https://github.com/huggingface/trl/pull/5885"""

    def push(own: Side, other: Side) -> Float:
        sizes = [len(side.said) - 1 for side in (own, other)]
        return pushed(own, other, known, [(list(range(sizes[0])), list(range(sizes[1])))], "last", 1)

    return in_units(rows, head, known, push)


def multiplied_through(rows: Rows, head: Float, known: Known) -> list[Float]:
    """A group takes the product of its distributions, divided by its sum.

        A_gv = prod_j p_jv / sum_v prod_j p_jv        -dL/dz_j = -A (s - <s, A>)    for each j of the group

    Source: https://github.com/huggingface/trl/pull/4765
    """

    def push(own: Side, other: Side) -> Float:
        pairs = pairs_of(own, other)
        a, b = (
            np.array([softmax(log_p[group].sum(0)) for group in groups])
            for log_p, groups in zip((np.log(p) for p in (predicted(own, 1), predicted(other, 1))), zip(*pairs))
        )
        slope = universal.hybrid_slope(a, b, *known)
        out = np.zeros(own.logits.shape)
        for group, pull in zip((s for s, _ in pairs), -a * (slope - (slope * a).sum(1, keepdims=True))):
            out[own.start - 1 + np.array(group)] = pull
        return out

    return in_units(rows, head, known, push)


def pairs_of(own: Side, other: Side) -> Pairs:
    """The groups of both, without the ends of sequence."""
    return universal.aligned(own.ends[:-1], other.ends[:-1])


def softmax(z: Float) -> Float:
    """Over the last axis."""
    p = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def predicted(side: Side, before: int) -> Float:
    """[n, v] distributions of the completion's tokens: of the logits at so many places before each."""
    return softmax(side.logits[side.start - before :][: len(side.said) - 1])


def pushed(own: Side, other: Side, known: Known, pairs: Pairs, merge: str, before: int) -> Float:
    """[n, v] push on the row's logits."""
    groups = list(zip(*pairs))
    a, b = (
        universal.merged(predicted(side, before), side.said, group, merge) for side, group in zip((own, other), groups)
    )
    out = np.zeros(own.logits.shape)
    place = slice(own.start - before, own.start - before + len(own.said) - 1)
    slope = universal.hybrid_slope(a, b, *known)
    out[place] = universal.through(slope, own.logits[place], own.said[:-1], groups[0], merge, 1.0)
    return out


def in_units(rows: Rows, head: Float, known: Known, push: Callable[[Side, Side], Float]) -> list[Float]:
    """The module's weight of a push; at a place that ought to have none the length of its gradient in that of a word,
    shared by the rows."""
    weights = []
    for own, other in rows:
        x, u = (p @ head for p in (push(own, other), pushed(own, other, known, pairs_of(own, other), "last", 1)))
        size = (u**2).sum(1)
        along = np.divide((x * u).sum(1), size, out=np.zeros_like(size), where=size > 0)
        stray = np.linalg.norm(x, axis=1) / np.linalg.norm(head, axis=1).max() / len(rows)
        weights.append(np.where(size > 0, along, stray))
    return weights

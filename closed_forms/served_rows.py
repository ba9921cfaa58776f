"""Weights of one micro-batch whose teacher answers from a server, when what it answers is used wrongly.

Axes: b = row, n = place of it that predicts a token, v = word, W = the head; S = the words that the teacher finds most
likely; z, q = logits of student and teacher. A weight is what the gradient is in units of what it ought to be:

    w_n = m_n / N <W' x_n, W' u_n> / |W' u_n|^2

with x the push on the logits and u that of ``distillation.over_words``, beta = 0, over S and one bucket for the rest, m
what is scored and N how many tokens of all rows are. Each function returns the rows in turn.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import distillation
from ._logistic import log_softmax
from ._window import Float


class Row(NamedTuple):
    """A row. student, teacher: [n, v] logits; mask: [n] 1 where the token is scored."""

    student: Float
    teacher: Float
    mask: ArrayLike


Rows = Sequence[Row]


def scored(rows: Rows) -> list[Float]:
    """As it should be: w = m / N."""
    n = sum(np.sum(row.mask) for row in rows)
    return [np.asarray(row.mask, np.float64) / n for row in rows]


def rest_left_out(rows: Rows, head: Float, words: int, temperature: float) -> list[Float]:
    """Nothing stands for the words outside S, and what is left is not divided by its sum.

        L = sum_(v in S) q_v log(q_v / p_v)        -dL/dz_v = (1_S q_v - p_v sum_S q) / T

    Source: https://github.com/verl-project/verl/issues/7856
    """

    def push(row: Row) -> Float:
        p, q = (np.exp(log_softmax(x / temperature)) for x in (row.student, row.teacher))
        q = q * most_likely(row.teacher, words)
        return np.asarray((q - p * q.sum(1, keepdims=True)) / temperature)

    return in_units(rows, head, words, temperature, push)


def taught_at_one(rows: Rows, head: Float, words: int, temperature: float) -> list[Float]:
    """The teacher answers at temperature 1, whatever that of the student is.

    Source: https://github.com/verl-project/verl/issues/7769
    """

    def push(row: Row) -> Float:
        hotter = row.teacher * temperature
        return distillation.over_words(
            row.student, hotter, 0.0, temperature, most_likely(row.teacher, words), tail=True
        )

    return in_units(rows, head, words, temperature, push)


def most_likely(teacher: Float, words: int) -> Float:
    """[n, v] 1 for the words of S."""
    rank = np.argsort(np.argsort(-teacher, axis=1, kind="stable"), axis=1)
    return np.asarray(rank < words, np.float64)


def in_units(rows: Rows, head: Float, words: int, temperature: float, push: Callable[[Row], Float]) -> list[Float]:
    """The module's weight of a push."""
    weights = []
    for row, share in zip(rows, scored(rows)):
        kept = most_likely(row.teacher, words)
        right = distillation.over_words(row.student, row.teacher, 0.0, temperature, kept, tail=True)
        x, u = push(row) @ head, right @ head
        weights.append(share * (x * u).sum(1) / (u**2).sum(1))
    return weights

"""How much of the divergence each token gets in a driven distillation, measured in units of the closed form.

The gradient at the final hidden state is that of ``distillation.jsd`` at the token, times 1 / N and nothing else.

TRL computes the push of ``distillation.jsd`` in float32, with unit roundoff u. Its entries are products of a
probability and of a difference of log-probabilities of at most 2 M + log V, M the largest |logit| of either model over
the temperature: with the errors of a log-softmax, u (6 M + V/4 + 3 log V + 6), on both, the entries err by that times
(2 + 2 M + log V) in sum, and the weight by a times the sum, a the amplification; 240 u more for the arithmetic.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_forms import distillation, rounding

from .objective_bounds import Expected
from .objective_record import Taught
from .record import Bools, Floats


@dataclass(frozen=True)
class Share:
    """One micro-batch, its rows padded to [b, t]; place t stands for token t + 1.

    Attributes:
        numbers: [b] as in Taught.
        mask: [b, t] the token is of the completion.
        weight: [b, t] the gradient over that of the divergence at the token alone.
        remainder: [b, t] what this leaves of the gradient, in the unit of the weight.
        amplification: [b, t] largest column of d hidden / d logits over the gradient of the divergence.
        largest: [b, t] largest |logit| of student and teacher, over the temperature.
    """

    numbers: NDArray[np.int64]
    mask: Bools
    weight: Floats
    remainder: Floats
    amplification: Floats
    largest: Floats


def shares(windows: list[list[Taught]], beta: float, temperature: float) -> list[list[Share]]:
    """[window][micro-batch] what is measured; beta and temperature as in ``distillation.jsd``."""
    return [[share_of(batch, beta, temperature) for batch in window] for window in windows]


def share_of(batch: Taught, beta: float, temperature: float) -> Share:
    """One micro-batch."""
    shape = len(batch.marks), max(marks.size for marks in batch.marks)
    tables = [np.zeros(shape) for _ in range(5)]
    for b, (marks, pull, p, q) in enumerate(zip(batch.marks, batch.pull, batch.student, batch.teacher)):
        unit_nh = distillation.jsd(p, q, beta, temperature) @ batch.head
        size_n = np.linalg.norm(unit_nh, axis=1)
        weight = (pull * unit_nh).sum(1) / size_n**2
        rest = np.linalg.norm(pull - weight[:, None] * unit_nh, axis=1) / size_n
        column = np.linalg.norm(batch.head, axis=1).max() / temperature / size_n
        largest = np.maximum(np.abs(p).max(1), np.abs(q).max(1)) / temperature
        for table, values in zip(tables, (marks, weight, rest, column, largest)):
            table[b, : marks.size] = values
    mask, *others = tables
    return Share(batch.numbers, mask > 0, *others)


def of_distilled(windows: list[list[Share]], vocabulary: int) -> list[list[Expected]]:
    """[window][micro-batch] 1 / N at every token of a completion, N those of the window, and 0 at the others."""
    counts = [sum(int(batch.mask.sum()) for batch in window) for window in windows]
    return [[of_batch(batch, n, vocabulary) for batch in window] for window, n in zip(windows, counts)]


def of_batch(batch: Share, n: int, vocabulary: int) -> Expected:
    """One micro-batch."""
    u, spread = rounding.unit_roundoff("float32"), np.log(vocabulary)
    one = 6 * batch.largest + vocabulary / 4 + 3 * spread + 6
    error = u * (2 * batch.amplification * one * (2 + 2 * batch.largest + spread) + 240)
    weight = batch.mask / n
    return Expected(weight, np.where(error > 0.1, np.nan, error) * weight)

"""What AsyncGRPO gives every token of a driven run, by the closed form, where rollouts share what they begin with.

The model computes norms and rotary tables in float32, and TRL's head its softmax, with unit roundoff u: log p errs by
e = u (6 M + V/4 + 3 log V + 6), with M the largest |logit|, and the push onehot - p by 2 e in sum. A weight, which is
read in units of that push, errs by 2 e times the amplification and 240 u for the arithmetic; a ratio, of log p at two
times of which one is kept in float32, by 2 e + u |log p|.
"""

from collections.abc import Sequence

import numpy as np

from closed_forms import policy, policy_tokens, rounding

from .objective_distilled import projected
from .objective_record import Compared, Taught, Windows
from .record import Floats


def of_async_grpo(
    windows: list[list[Taught]],
    rows: Sequence[Sequence[int]],
    advantages: Sequence[float],
    low: float = 0.2,
    high: float = 0.2,
    whole: bool = False,
) -> tuple[Windows, str]:
    """[window][micro-batch] measured beside expected, and which gradient is that of no log-probability.

    Args:
        rows: [number] ids of prompt and completion; advantages: [number].
        low, high: epsilon and epsilon_high.
        whole: divided by the tokens of the window, and not by those of each micro-batch and their number.
    """
    compared: Windows = []
    apart = ""
    for w, window in enumerate(windows):
        tokens = sum(int(marks.sum()) for batch in window for marks in batch.marks)
        compared.append([])
        for batch in window:
            k = tokens / sum(int(marks.sum()) for marks in batch.marks) if whole else len(window)
            found, wrong = of_batch(batch, [rows[n] for n in batch.numbers], advantages, (low, high), k)
            compared[-1].append(found)
            apart = apart or (wrong and f"window {w}, {wrong}")
    return compared, apart


def of_batch(
    batch: Taught, rows: list[Sequence[int]], advantages: Sequence[float], epsilons: tuple[float, float], k: float
) -> tuple[Compared, str]:
    """One micro-batch, of which every token is divided by its tokens and by k."""
    shape = len(batch.marks), max(marks.size for marks in batch.marks)
    mask, drift, measured, rest, column, one = (np.zeros(shape) for _ in range(6))
    for b, (marks, said, pull, logits) in enumerate(zip(batch.marks, batch.said, batch.pull, batch.student)):
        n, spread = slice(0, marks.size), np.log(logits.shape[1])
        p = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        unit = np.eye(logits.shape[1])[said] - p
        mask[b, n], drift[b, n] = marks, batch.drift[b]
        measured[b, n], rest[b, n], column[b, n] = projected(pull, unit, batch.head, 1.0)
        one[b, n] = (
            6 * np.abs(logits).max(1) + logits.shape[1] / 4 + 3 * spread + 6 + 2 * np.abs(logits).max(1) + spread
        )
    a = np.array([advantages[number] for number in batch.numbers])[:, None]
    factor = policy.clipped(drift, a, *epsilons)
    each = policy_tokens.by_micro_batch(mask, k) * policy_tokens.at_tokens(mask, factor)
    u, ratio = rounding.unit_roundoff("float32"), np.exp(drift)
    near = np.minimum(abs(ratio - 1 + epsilons[0]), abs(ratio - 1 - epsilons[1])) <= 2 * one * u * ratio
    told = np.where(mask * near * (drift != 0), np.nan, np.abs(each) * u)
    expected, size = (shared(table, mask, rows) for table in (each, told))
    allowed = size * (2 * one * column + 2 * one + 240)
    bad = np.argwhere(rest > np.maximum(np.abs(measured) * u, size) * (2 * one * column + 240))
    wrong = (
        f"row {batch.numbers[bad[0][0]]}, token {bad[0][1] + 1}: the gradient is that of no token" if len(bad) else ""
    )
    return Compared(batch.numbers, measured, expected, allowed), wrong


def shared(table: Floats, mask: Floats, rows: list[Sequence[int]]) -> Floats:
    """[b, n] the sum over all rows that hold the same tokens up to the one that place n predicts."""
    out = np.zeros_like(table)
    for b, row in enumerate(rows):
        for n in range(len(row) - 1):
            same = [c for c, other in enumerate(rows) if tuple(other[: n + 2]) == tuple(row[: n + 2])]
            out[b, n] = sum(table[c, n] for c in same if mask[c, n])
    return out

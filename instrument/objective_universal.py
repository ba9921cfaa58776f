"""How much of the loss across tokenizers each place of a driven GOLD gets, measured in units of the closed form.

The model computes norms and rotary tables in float32, with unit roundoff u: a probability errs by a part of
e = u (6 M + V/4 + 3 log V + 6), as in ``objective_distilled``, and the distribution A of a group of L tokens by L e.
Its push on a place errs, in sum over the words, by

    sum_v A_v |s_v| (3 L + 2) e + 4 sum_v A_v d_v

with the slope s and its own error d: where words are matched (|s_v| + share) (L + L_teacher) e, with the share of the
term in a group's loss; where they are sorted 2 share if another sign is within reach of the errors of A and B, else 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_forms import rounding, universal

from .objective_distilled import projected
from .objective_record import Compared, Spelled, Taught, Windows
from .probe import EOS
from .record import Bools, Floats


@dataclass(frozen=True)
class Across:
    """Options of the loss, by GOLD's names without "uld".

    Attributes:
        merge: token_merge_strategy, "observed" or "bayesian".
        shifted: the logits of a token are those that predict it, not those behind it.
        extended: use_extended_uld; else the tokens are compared in their order.
        pairs: use_hybrid_loss, words that both know as ids of student and teacher; None without.
        weights: of the matched and the other words.
        beta: of the matched words.
        temperatures: student_temperature and teacher_temperature.
        skip: skip_student_eos and skip_teacher_eos.
        crossentropy, distillation: their weights.
        ends_alone: what is skipped is an end of sequence, and no last token of a completion that was cut off.
    """

    merge: str = "observed"
    shifted: bool = True
    extended: bool = True
    pairs: Sequence[tuple[int, int]] | None = None
    weights: tuple[float, float] = (1.0, 1.0)
    beta: float = 0.5
    temperatures: tuple[float, float] = (1.0, 1.0)
    skip: tuple[bool, bool] = (True, True)
    crossentropy: float = 0.0
    distillation: float = 1.0
    ends_alone: bool = False


def of_gold_across(
    windows: list[list[Taught]], spelled: Sequence[tuple[Spelled, Spelled]], across: Across, divided: bool
) -> tuple[Windows, str]:
    """[window][micro-batch] measured beside expected, in units of the batch's own loss, and what points elsewhere.

    Args:
        spelled: [answer] by student and teacher.
        divided: by the micro-batches of the window, so that it is the mean over all rows.
    """
    compared: Windows = []
    apart = ""
    for number, window in enumerate(windows):
        compared.append([])
        for batch in window:
            found, wrong = of_batch(batch, spelled, across, 1 / len(window) if divided else 1.0)
            compared[-1].append(found)
            apart = apart or (wrong and f"window {number}, {wrong}")
    return compared, apart


def of_batch(
    batch: Taught, spelled: Sequence[tuple[Spelled, Spelled]], across: Across, share: float
) -> tuple[Compared, str]:
    """One micro-batch."""
    shape = len(batch.marks), max(marks.size for marks in batch.marks)
    measured, expected, allowed = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    tokens, apart = sum(int(marks.sum()) for marks in batch.marks), ""
    rows = zip(batch.numbers, batch.said, batch.pull, batch.student, batch.teacher)
    for b, (number, said, pull, student, teacher) in enumerate(rows):
        unit, error = push(student, teacher, spelled[number][0], spelled[number][1], across)
        unit, error = across.distillation * unit / shape[0], across.distillation * error / shape[0]
        if across.crossentropy:
            own, wrong = of_targets(student, said, batch.marks[b])
            unit, error = unit + across.crossentropy / tokens * own, error + across.crossentropy / tokens * wrong
        weight, rest, column = projected(pull, unit, batch.head, 1.0)
        # A group that is nowhere above the teacher's pulls at its base by what cancels, and a place of none by nothing.
        seen = np.isfinite(column)
        bound = np.where(seen, column, 1.0) * error + 240 * rounding.unit_roundoff("float32") * seen
        bound[seen & (bound > 0.1)] = np.nan
        n = slice(0, said.size)
        measured[b, n], expected[b, n], allowed[b, n] = weight, share * seen, share * bound
        bad = np.flatnonzero(rest > np.where(seen, np.abs(weight), 1.0) * bound)
        if bad.size and not apart:
            apart = f"row {number}, token {bad[0] + 1}: the gradient is not that of the loss across tokenizers"
    return Compared(batch.numbers, measured, expected, allowed), apart


def push(student: Floats, teacher: Floats, own: Spelled, other: Spelled, across: Across) -> tuple[Floats, Floats]:
    """[n, v] -dL/dz of one row of the student, and [n] how far its entries may be off in sum.

    Raises:
        ValueError: the logits behind a last token are asked for, which are not read.
    """
    sizes = [
        len(side.said) - (skipped and not (across.ends_alone and side.said[-1] != EOS))
        for side, skipped in zip((own, other), across.skip)
    ]
    starts = [side.start - across.shifted for side in (own, other)]
    if any(start + size > len(z) for start, size, z in zip(starts, sizes, (student, teacher))):
        raise ValueError("skip holds False, but the logits behind an end of sequence are not read: shift, or skip it")
    groups = [([k], [k]) for k in range(min(sizes))]
    if across.extended:
        groups = universal.aligned(own.ends[: sizes[0]], other.ends[: sizes[1]])
    rows = [z[start : start + size] for z, start, size in zip((student, teacher), starts, sizes)]
    merge = {"observed": "first", "bayesian": "last"}[across.merge]
    merged, parts = [], []
    for side, (z, said, t) in enumerate(zip(rows, (own.said, other.said), across.temperatures)):
        p = np.exp(z / t - np.logaddexp.reduce(z / t, axis=1, keepdims=True))
        merged.append(universal.merged(p, said, [group[side] for group in groups], merge))
        largest = np.abs(z).max(initial=0.0) / t
        parts.append(rounding.unit_roundoff("float32") * (6 * largest + z.shape[1] / 4 + 3 * np.log(z.shape[1]) + 6))
    sizes_g2 = np.array([[len(s), len(t)] for s, t in groups]).reshape(-1, 2)
    slope, wrong = sloped(merged[0], merged[1], across, sizes_g2 * parts)
    out, error = np.zeros_like(student), np.zeros(len(student))
    n = slice(starts[0], starts[0] + sizes[0])
    own_groups = [s for s, _ in groups]
    out[n] = universal.through(slope, rows[0], own.said[: sizes[0]], own_groups, merge, across.temperatures[0])
    for a, s, d, group in zip(merged[0], slope, wrong, own_groups):
        off = (a * np.abs(s)).sum() * (3 * len(group) + 2) * parts[0] + 4 * (a * d).sum()
        error[starts[0] + np.array(group)] = off / across.temperatures[0]
    return out, error


def sloped(a: Floats, b: Floats, across: Across, parts: Floats) -> tuple[Floats, Floats]:
    """[g, v] the slope and how far it may be off; parts: [g, 2] relative errors of A and B."""
    g = max(len(a), 1)
    if across.pairs is None:
        return universal.sorted_slope(a, b), unsure(a, b, parts) * 2 / g
    slope = universal.hybrid_slope(a, b, across.pairs, across.beta, across.weights)
    known = [np.array(side, np.int64) for side in zip(*across.pairs)]
    others = [np.delete(np.arange(x.shape[1]), side) for x, side in zip((a, b), known)]
    wrong = (np.abs(slope) + across.weights[0] / g) * parts.sum(1, keepdims=True)
    # Where the logarithm is cut off cannot be told.
    wrong[np.abs(a - universal.LEAST) <= 2 * parts[:, :1] * universal.LEAST] = np.inf
    wrong[:, others[0]] = across.weights[1] * 2 / g * unsure(a[:, others[0]], b[:, others[1]], parts)
    return slope, wrong


def unsure(a: Floats, b: Floats, parts: Floats) -> Floats:
    """[g, v] 1 where the sign of A_(k) - B_(k) may be another one, at the rank k of v or at one that it may have."""
    found = np.zeros_like(a)
    for row, (p, q, (own, other)) in enumerate(zip(a, b, parts)):
        order = np.argsort(-p, kind="stable")
        falling, taught = p[order], np.zeros(max(p.size, q.size))
        taught[: q.size] = -np.sort(-q)
        taught = taught[: p.size]
        sign = np.sign(falling - taught)
        sign[np.abs(falling - taught) <= own * falling + other * taught] = np.nan
        for k, v in enumerate(order):
            near = np.abs(falling - falling[k]) <= own * (falling + falling[k])
            found[row, v] = not (sign[near] == sign[k]).all()
    return found


def of_targets(student: Floats, said: NDArray[np.int64], marks: Bools) -> tuple[Floats, Floats]:
    """[n, v] the push of a cross-entropy on the marked tokens, each with weight 1, and [n] its error in sum."""
    p = np.exp(student - np.logaddexp.reduce(student, axis=1, keepdims=True))
    own = -p
    own[np.arange(said.size), said] += 1
    largest, v = np.abs(student).max(1), student.shape[1]
    one = rounding.unit_roundoff("float32") * (6 * largest + v / 4 + 3 * np.log(v) + 6)
    return own * marks[:, None], 2 * one * marks

"""Push on a student's logits from a teacher of another tokenizer: the universal logit distillation loss (ULD).

Axes: n, v = position and word of the student; m, w = of the teacher; g = group of positions that spell the same bytes.

    loss = 1 / G sum_g d(A_g, B_g)        A_gv = p_base(g),v  prod_(j other of g) p_j(y_j)        p = softmax(z / T)

B_g likewise from the teacher, a constant. Which row of logits stands for a position is the caller's: the one that
predicts its token (p(y_j) is then its conditional probability, and A the chain rule), or any other. The push is
-dL/dz, positive where a step of gradient descent raises the logit. TRL takes the mean over the rows of a micro-batch.

Source: https://arxiv.org/abs/2402.12030 (ULD), equation 3; ``ULDLoss``, trl/experimental/gold/gold_trainer.py.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ._logistic import log_softmax
from ._read import between, one_of, positive, read_numbers, shape_of
from ._window import Float

Groups = Sequence[Sequence[int]]
MERGES = ("first", "last")
# What GOLD keeps of a probability before it takes its logarithm.
LEAST = 1e-8


def aligned(student: Sequence[int], teacher: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Positions of both that spell the same bytes, cut wherever both end a token.

    Args:
        student, teacher: where each token ends, in bytes, strictly rising; the end of sequence is one byte more.

    Returns:
        For each group its positions in the student and in the teacher. What stands behind the last common end is one
        more group, unless one of them has nothing there.

    Raises:
        ValueError: ends that do not rise.
    """
    for name, ends in (("student", student), ("teacher", teacher)):
        if any(b <= a for a, b in pairwise(ends)):
            raise ValueError(f"{name} must rise from token to token, got {list(ends)}: give the end of each in bytes")
    cuts = [*sorted(set(student) & set(teacher)), np.inf]
    s_n, t_m = np.searchsorted(cuts, student), np.searchsorted(cuts, teacher)
    groups = [(np.flatnonzero(s_n == g).tolist(), np.flatnonzero(t_m == g).tolist()) for g in range(len(cuts))]
    return [(s, t) for s, t in groups if s and t]


def merged(p: Float, said: Sequence[int], groups: Groups, merge: str) -> Float:
    """[g, v] A of the module's equation, from p [n, v]; the base is the "first" or the "last" position of a group.

    Raises:
        ValueError: fewer tokens than rows of p, one that is no word, a group that is empty or holds another
            position; a merge that is not known.
    """
    n, v = p.shape
    if len(said) < n or not all(0 <= word < v for word in said):
        raise ValueError(f"said holds one of {v} words for each of {n} positions, got {list(said)}: give each its id")
    if not all(group and all(0 <= j < n for j in group) for group in groups):
        raise ValueError(f"groups hold positions of 0 to {n - 1}, at least one each, got {list(groups)}")
    rows = []
    for group in groups:
        base = group[0] if one_of(MERGES, merge, "merge") == "first" else group[-1]
        rows.append(p[base] * np.prod([p[j, said[j]] for j in group if j != base]))
    return np.array(rows).reshape(len(rows), p.shape[1])


def sorted_slope(a: Float, b: Float) -> Float:
    """[g, v] dL/dA of d = sum_k |A_(k) - B_(k)|, both sorted, the shorter one filled up with 0."""
    width = max(a.shape[1], b.shape[1])
    falling = [-np.sort(-np.pad(x, [(0, 0), (0, width - x.shape[1])])) for x in (a, b)]
    order = np.argsort(-a, axis=1, kind="stable")
    slope = np.zeros_like(a)
    np.put_along_axis(slope, order, np.sign(falling[0] - falling[1])[:, : a.shape[1]], 1)
    return slope / max(len(a), 1)


def matched_slope(a: Float, b: Float, beta: float) -> Float:
    """[g, v] dL/dA of d = the generalized Jensen-Shannon divergence of numbers that need not add up to 1.

        beta = 0    dL/dA = -B / A      d = sum B log(B / A)
        beta = 1    dL/dA = log(A / B) + 1      d = sum A log(A / B)
        else        dL/dA = (1 - beta) log(A / M)      d = sum beta B log(B / M) + (1 - beta) A log(A / M)
        M = (1 - beta) A + beta B

    over G; 0 where A is below 10^-8, which then stands for A, and for B likewise.
    """
    low = a < LEAST
    a, b = np.maximum(a, LEAST), np.maximum(b, LEAST)
    share = between(0, beta, 1, "beta")
    if share == 0:
        slope = -b / a
    elif share == 1:
        slope = np.log(a / b) + 1
    else:
        slope = (1 - share) * np.log(a / ((1 - share) * a + share * b))
    return np.asarray(np.where(low, 0.0, slope) / max(len(a), 1))


def hybrid_slope(
    a: Float, b: Float, pairs: Sequence[tuple[int, int]], beta: float, weights: tuple[float, float]
) -> Float:
    """[g, v] dL/dA where words that both know are compared with each other, and the rest sorted.

        d = weights[0] jsd(A, B over pairs) + weights[1] sum_k |A_(k) - B_(k)| over the others

    Without another word on one of the sides the second term is left out. GOLD's own weights are c / W and 1 - c / W, of
    c pairs and a teacher's vocabulary of W. Source: ``ULDLoss._compute_hybrid_uld_loss``.

    Args:
        pairs: word of the student and of the teacher; no word twice.
        beta: of ``matched_slope``.
        weights: of the matched and of the other words, 0 or more.
    """
    known = [np.array(side, np.int64) for side in zip(*pairs)] or [np.zeros(0, np.int64)] * 2
    others = [np.delete(np.arange(x.shape[1]), side) for x, side in zip((a, b), known)]
    slope = np.zeros_like(a)
    slope[:, known[0]] = weights[0] * matched_slope(a[:, known[0]], b[:, known[1]], beta)
    if others[0].size and others[1].size:
        slope[:, others[0]] = weights[1] * sorted_slope(a[:, others[0]], b[:, others[1]])
    return slope


def through(slope: Float, student: ArrayLike, said: Sequence[int], groups: Groups, merge: str, t: float) -> Float:
    """Push on the logits behind dL/dA.

        -dL/dz_base = -(s A - p_base sum_v s_v A_v) / T        -dL/dz_j = -(onehot(y_j) - p_j) sum_v s_v A_v / T

    Args:
        slope: s, [g, v].
        student: [n, v] logits; said: [n] ids of the tokens; groups: of the student; merge: as for ``merged``.
        t: T, the temperature.

    Returns:
        [n, v]; 0 at positions of no group, and every row sums to 0.

    Raises:
        ValueError: logits that are not rows of finite numbers, ids of another number, a merge that is not known, or a
            temperature that is not positive.
    """
    shape = shape_of(student)
    if len(shape) != 2 or len(said) != shape[0]:
        raise ValueError(f"{len(said)} tokens for logits of shape {list(shape)}: give one row of logits for each")
    p = np.exp(log_softmax(read_numbers(student, shape, "student") / positive(t, "temperature")))
    weighted = slope * merged(p, said, groups, merge)
    push = np.zeros(shape)
    for row, group in zip(weighted, groups):
        base = group[0] if merge == "first" else group[-1]
        push[base] = -(row - p[base] * row.sum()) / t
        for j in group:
            if j != base:
                push[j] = p[j] * row.sum() / t
                push[j, said[j]] -= row.sum() / t
    return push

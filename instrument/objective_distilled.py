"""How much of the divergence each token gets in a driven distillation, measured in units of the closed form.

The gradient at the final hidden state is that of ``distillation.jsd`` at the token, times 1 / N and nothing else.

TRL computes the push of ``distillation.jsd`` in float32, with unit roundoff u. Its entries are products of a
probability and of a difference of log-probabilities of at most 2 M + log V, M the largest |logit| of either model over
the temperature: with the errors of a log-softmax, u (6 M + V/4 + 3 log V + 6), on both, the entries err by that times
(2 + 2 M + log V) in sum, and the weight by a times the sum, a the amplification; 240 u more for the arithmetic.

Where the words of a support have a probability of at most rho under both models, and the rest is one bucket, only what
is of the words errs so, and the bucket as much in absolute terms: 1 - sum p errs by what the sum does. That is 2 rho of
the above, and 24 u more for a bucket near 1, whose sums and logarithms round to u each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_forms import distillation, policy_tokens, rounding

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
        amplification: [b, t] largest column of d hidden / d logits over the gradient of the divergence; infinite where
            the models agree.
        largest: [b, t] largest |logit| of student and teacher, over the temperature.
        held: [b, t] largest probability of the support under student and teacher; 1 without a bucket for the rest.
        drift: [b, t] as in Taught.
    """

    numbers: NDArray[np.int64]
    mask: Bools
    weight: Floats
    remainder: Floats
    amplification: Floats
    largest: Floats
    held: Floats
    drift: Floats


@dataclass(frozen=True)
class Support:
    """Over which words a divergence runs; as in ``distillation.top_k``.

    Attributes:
        words: how many, None for the vocabulary.
        tail: the rest is one bucket.
    """

    words: int | None = None
    tail: bool = False

    def push(
        self, student: Floats, teacher: Floats, said: NDArray[np.int64], beta: float, temperature: float
    ) -> Floats:
        """[n, v] -dL/dz of the student's logits; said: [n] id of each token."""
        if self.words is None:
            return distillation.jsd(student, teacher, beta, temperature)
        return distillation.top_k(student, teacher, beta, temperature, self.words, self.tail)

    def held(
        self, student: Floats, teacher: Floats, said: NDArray[np.int64], beta: float, temperature: float
    ) -> Floats:
        """[n] as in Share; 1, which is no less than it is."""
        return np.ones(len(student))

    def asked(self) -> dict[str, Any]:
        """By the names of SDFTConfig and SDPOConfig."""
        if self.words is None:
            return {"distillation_mode": "full_logits", "distillation_topk": None}
        return {
            "distillation_mode": "topk_logits",
            "distillation_topk": self.words,
            "distillation_add_tail": self.tail,
        }


@dataclass(frozen=True)
class Served:
    """The words of which a server tells; as in ``distillation.over_words``.

    With beta = 0 the ``words`` that the teacher finds most likely, and the token itself where it is told of too; else
    the first of them and the token, and the token alone with beta = 1.
    """

    words: int = 1
    tail: bool = True
    itself: bool = False

    def push(
        self, student: Floats, teacher: Floats, said: NDArray[np.int64], beta: float, temperature: float
    ) -> Floats:
        """[n, v] -dL/dz of the student's logits; said: [n] id of each token."""
        return distillation.over_words(student, teacher, beta, temperature, self.kept(teacher, said, beta), self.tail)

    def kept(self, teacher: Floats, said: NDArray[np.int64], beta: float) -> Bools:
        """[n, v] the words."""
        first = np.argsort(-teacher, axis=1, kind="stable")[:, : self.words if beta == 0 else 1]
        if beta == 1:
            first = said[:, None]
        elif beta > 0 or self.itself:
            first = np.append(first, said[:, None], axis=1)
        kept = np.zeros(teacher.shape, np.bool_)
        np.put_along_axis(kept, first, True, 1)
        return kept

    def held(
        self, student: Floats, teacher: Floats, said: NDArray[np.int64], beta: float, temperature: float
    ) -> Floats:
        """[n] as in Share."""
        kept = self.kept(teacher, said, beta)
        each = [np.exp(z / temperature) / np.exp(z / temperature).sum(1, keepdims=True) for z in (student, teacher)]
        return np.max([(p * kept).sum(1) for p in each], axis=0) if self.tail else np.ones(len(student))


def shares(
    windows: list[list[Taught]], beta: float, temperature: float, support: Support | Served = Support()
) -> list[list[Share]]:
    """[window][micro-batch] what is measured; beta and temperature as in ``distillation.jsd``."""
    return [[share_of(batch, beta, temperature, support) for batch in window] for window in windows]


def share_of(batch: Taught, beta: float, temperature: float, support: Support | Served) -> Share:
    """One micro-batch."""
    shape = len(batch.marks), max(marks.size for marks in batch.marks)
    tables = [np.zeros(shape) for _ in range(7)]
    rows = zip(batch.marks, batch.said, batch.pull, batch.student, batch.teacher, batch.drift)
    for b, (marks, said, pull, p, q, drift) in enumerate(rows):
        weight, rest, column = projected(pull, support.push(p, q, said, beta, temperature), batch.head, temperature)
        largest = np.maximum(np.abs(p).max(1), np.abs(q).max(1)) / temperature
        held = support.held(p, q, said, beta, temperature)
        for table, values in zip(tables, (marks, weight, rest, column, largest, held, drift)):
            table[b, : marks.size] = values
    mask, *others = tables
    return Share(batch.numbers, mask > 0, *others)


def projected(pull_nh: Floats, unit_nv: Floats, head: Floats, temperature: float) -> tuple[Floats, Floats, Floats]:
    """[n] weight, remainder and amplification, as in Share, of a pull in units of the push unit_nv on the logits."""
    unit_nh = unit_nv @ head
    longest = np.linalg.norm(head, axis=1).max() / temperature
    size_n = np.linalg.norm(unit_nh, axis=1)
    # Where both models agree nothing has a unit, and what is pulled all the same is counted in that of a word.
    agree_n = size_n == 0
    size_n = np.where(agree_n, longest, size_n)
    weight = np.where(agree_n, np.linalg.norm(pull_nh, axis=1), (pull_nh * unit_nh).sum(1) / size_n) / size_n
    rest = np.linalg.norm(pull_nh - weight[:, None] * unit_nh, axis=1) / size_n
    return weight, rest, np.where(agree_n, np.inf, longest / size_n)


def of_distilled(windows: list[list[Share]], vocabulary: int) -> list[list[Expected]]:
    """[window][micro-batch] 1 / N at every token of a completion, N those of the window, and 0 at the others."""
    return of_counted(windows, [sum(int(batch.mask.sum()) for batch in window) for window in windows], vocabulary)


def of_counted(windows: list[list[Share]], counts: Sequence[float], vocabulary: int) -> list[list[Expected]]:
    """As ``of_distilled``, with a count of tokens for each window in the place of N."""
    return [[of_batch(batch, 1 / n, vocabulary) for batch in window] for window, n in zip(windows, counts)]


def of_micro_batches(windows: list[list[Share]], vocabulary: int) -> list[list[Expected]]:
    """[window][micro-batch] as ``policy_tokens.by_micro_batch`` has it: ServerDistillation and AsyncDistillation."""
    return [
        [of_batch(batch, policy_tokens.by_micro_batch(batch.mask, len(window)), vocabulary) for batch in window]
        for window in windows
    ]


def of_completions(
    windows: list[list[Share]],
    vocabulary: int,
    skipped: int = 0,
    cap: float = 2.0,
    taught: Sequence[bool] | None = None,
) -> list[list[Expected]]:
    """[window][micro-batch] as ``policy_tokens.by_completion`` has it, times ``distillation.capped``: SDFT and SDPO.

    Args:
        skipped: num_loss_tokens_to_skip, how many first tokens of a completion are left out.
        cap: distillation_is_clip.
        taught: [number] the completion has a teacher; all have one, if left out.
    """

    def share(batch: Share, k: int) -> Floats:
        seen = np.ones(len(batch.numbers), np.bool_) if taught is None else np.array(taught)[batch.numbers]
        return by_completion(batch.mask & seen[:, None], skipped, k) * distillation.capped(batch.drift, cap)

    return [[of_batch(batch, share(batch, len(window)), vocabulary) for batch in window] for window in windows]


def by_completion(mask: Bools, skipped: int, k: int) -> Floats:
    """[b, t] share of the tokens behind the skipped ones; 0 at these."""
    left = mask & (np.arange(mask.shape[1]) >= mask.argmax(1, keepdims=True) + skipped)
    return np.asarray(left * policy_tokens.by_completion(left, k))


def of_batch(batch: Share, share: Floats | float, vocabulary: int) -> Expected:
    """One micro-batch; share: what the tokens of its completions weigh, of a shape that broadcasts with [b, t]."""
    weight = np.asarray(batch.mask * share, np.float64)
    return Expected(weight, np.where(weight == 0, 0.0, relative_error(batch, vocabulary) * weight))


def relative_error(batch: Share, vocabulary: int) -> Floats:
    """[b, t] how far a weight may be off, as a part of it; nan where that is a tenth or more."""
    u, spread = rounding.unit_roundoff("float32"), np.log(vocabulary)
    one = 6 * batch.largest + vocabulary / 4 + 3 * spread + 6
    part = np.minimum(1, 2 * batch.held)
    whole = 2 * part * one * (2 + 2 * batch.largest + spread) + 24 * (part < 1)
    # Where the student is not the one that sampled, both log-probabilities of the token err, and the factor with them.
    error = u * (batch.amplification * whole + 2 * one * (batch.drift != 0) + 240)
    return np.where(error > 0.1, np.nan, error)


def as_amplification(batch: Share, vocabulary: int) -> Floats:
    """[b, t] what stands for Row.amplification, so that ``rounding.weight_tolerance`` gives ``relative_error``."""
    error = relative_error(batch, vocabulary)
    return np.asarray(error / rounding.weight_tolerance(vocabulary, "float32", "float32", 1.0))


def other_divergence(
    taught: list[list[Taught]], beta: float, temperature: float, vocabulary: int, support: Support | Served = Support()
) -> str:
    """Empty where the gradients are those of the divergence; else the first that is not, and which one fits them all.

    A gradient is of the divergence where what it leaves is no more than rounding: of the weight, as far as that may be
    off itself.
    """
    first = apart(taught, beta, temperature, vocabulary, support)
    found = fitting(taught, beta, temperature, vocabulary, support) if first else ()
    return f"{first}; it is that with beta = {found[0]:g} at temperature {found[1]:g}" if found else first


def fitting(
    taught: list[list[Taught]], beta: float, temperature: float, vocabulary: int, support: Support | Served = Support()
) -> tuple[float, ...]:
    """beta and temperature of a neighbour of this divergence whose gradients these are; empty where there is none."""
    own = {beta, 1 - beta}
    for other in sorted({0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0} | own):
        for at in sorted({0.5, 1.0, 2.0, temperature, temperature**2}):
            if not apart(taught, other, at, vocabulary, support):
                return other, at
    return ()


def apart(
    taught: list[list[Taught]], beta: float, temperature: float, vocabulary: int, support: Support | Served = Support()
) -> str:
    """The first token whose gradient is not that of the divergence."""
    for number, window in enumerate(shares(taught, beta, temperature, support)):
        for batch in window:
            bound = np.where(batch.weight == 0, 0.0, np.abs(batch.weight) * relative_error(batch, vocabulary))
            bad = np.argwhere(batch.mask & (batch.remainder > bound))
            if bad.size:
                b, t = bad[0]
                return (
                    f"window {number}, row {batch.numbers[b]}, token {t + 1}: the gradient is not that of the "
                    f"divergence with beta = {beta:g} at temperature {temperature:g}"
                )
    return ""

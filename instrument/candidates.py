"""The formulas that a training loop may be following on the rows of a window."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from closed_forms import aggregation

from .record import Floats, Window

Counts = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Candidate:
    """A closed form that a training loop may be following.

    Attributes:
        name: for people, M filled in.
        equation: the weight of a target.
        form: weights [row][n] from the counts [m][b].
    """

    name: str
    equation: str
    form: Callable[[Counts], list[Floats]]


def candidates(window: Window) -> list[Candidate]:
    """Every form that the ledger of a window allows, the token mean first."""
    m, backwards = len(window.counts()), window.micro_batches
    a = aggregation
    mean = Candidate("token mean", "1/N", a.token_mean)
    others = [
        Candidate("per-sequence mean", "1/(S n_b)", a.per_sequence_mean),
        Candidate("sum over tokens, never divided", "1", a.token_sum),
    ]
    times = Candidate(f"token mean times M = {backwards}", "M/N", lambda n_mb: a.scaled(a.token_mean(n_mb), backwards))
    if m == 1:
        return [mean, *others] if backwards == 1 else [mean, times, *others]
    return [
        mean,
        Candidate(f"mean of micro-batch means, M = {m}", "1/(M n_m)", a.mean_of_micro_batch_means),
        Candidate(f"sum of micro-batch means, M = {m} times too large", "1/n_m", a.sum_of_micro_batch_means),
        Candidate(f"micro-batch means weighted by their rows, M = {m}", "B_m/(B n_m)", a.weighted_by_rows),
        Candidate(f"token mean divided once more by M = {m}", "1/(M N)", a.divided_twice),
        times,
        Candidate("sum over the last micro-batch only", "1/N in it, else 0", a.last_micro_batch_only),
        *(
            Candidate(
                f"sum over the first {k} of M = {m} micro-batches only",
                "1/N in them, else 0",
                partial(a.first_micro_batches_only, kept=k),
            )
            for k in range(1, m)
        ),
        *(
            Candidate(
                f"mean of micro-batch means divided by {k} though only M = {m} ran",
                f"1/({k} n_m)",
                partial(a.short_window, accumulation=k),
            )
            for k in range(m + 1, 2 * m + 1)
        ),
        *others,
    ]


def same_form(window: Window, of: str, one: Candidate, other: Candidate) -> bool:
    """Whether two forms give the same weights on these rows."""
    pairs = zip(one.form(window.counts(of)), other.form(window.counts(of)))
    return all(np.allclose(a, b, rtol=1e-9, atol=0) for a, b in pairs)

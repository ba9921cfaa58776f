"""The formulas that a training loop may be following on the rows of a window."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from closed_forms import aggregation, counted_samples

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


def objectives() -> dict[str, Candidate]:
    """What a run may be meant to do, by name; a form's numbers of micro-batches and ranks are those of the window."""
    found = [
        Candidate("token mean", "1/N", aggregation.token_mean),
        Candidate("per-sequence mean", "1/(S n_b)", aggregation.per_sequence_mean),
        Candidate("per-sequence mean over all rows", "1/(B n_b)", aggregation.per_sequence_mean_of_all),
        Candidate("mean of micro-batch means", "1/(M n_m)", aggregation.mean_of_micro_batch_means),
        Candidate("micro-batch means weighted by their rows", "B_m/(B n_m)", aggregation.weighted_by_rows),
        Candidate("sum over tokens, never divided", "1", aggregation.token_sum),
    ]
    return {candidate.name: candidate for candidate in found}


def expected_first(window: Window, expect: str) -> list[Candidate]:
    """The form that a run is meant to follow, then all others that the ledger of the window allows."""
    itself = re.compile(re.escape(expect) + r"( per rank| over all ranks)?(, [MR] = .*)?")
    return [objectives()[expect], *(c for c in candidates(window) if not itself.fullmatch(c.name))]


def candidates(window: Window) -> list[Candidate]:
    """Every form that the ledger of a window allows, the token mean first."""
    if window.ranks > 1:
        return over_ranks(window)
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
        Candidate("sum over the last micro-batch only", "1/N in it, else 0", counted_samples.last_micro_batch_only),
        *(
            Candidate(
                f"sum over the first {k} of M = {m} micro-batches only",
                "1/N in them, else 0",
                partial(counted_samples.first_micro_batches_only, kept=k),
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


def over_ranks(window: Window) -> list[Candidate]:
    """The forms of a window of several ranks, whose gradients are averaged; R ranks, M micro-batches on each."""
    a, r, m_r = aggregation, window.ranks, [len(n_mb) for n_mb in window.counts_by_rank()]
    m = max(m_r)
    ranks, both = f"R = {r}", f"R = {r}, M = {m}"

    def split(n_mb: Counts) -> list[Counts]:
        groups = iter(n_mb)
        return [list(islice(groups, size)) for size in m_r]

    def averaged(form: Callable[[Counts], list[Floats]]) -> Callable[[Counts], list[Floats]]:
        return lambda n_mb: a.scaled([row for counts in split(n_mb) for row in form(counts)], 1 / r)

    def times(factor: float) -> Callable[[Counts], list[Floats]]:
        return lambda n_mb: a.scaled(a.token_mean(n_mb), factor)

    found = [
        Candidate("token mean", "1/N", a.token_mean),
        Candidate(f"mean of per-rank means, {ranks}", "1/(R N_r)", lambda n_mb: a.per_rank_mean(split(n_mb))),
        Candidate(f"token mean times {ranks}", "R/N", times(r)),
        Candidate(f"token mean divided once more by {ranks}", "1/(R N)", times(1 / r)),
        Candidate(
            f"sum of per-rank means, {ranks} times too large",
            "1/N_r",
            lambda n_mb: a.scaled(a.per_rank_mean(split(n_mb)), r),
        ),
        Candidate(f"mean of per-sequence means per rank, {ranks}", "1/(R S_r n_b)", averaged(a.per_sequence_mean)),
        Candidate("per-sequence mean over all ranks", "1/(S n_b)", a.per_sequence_mean),
        Candidate(f"sum over tokens, divided by {ranks} only", "1/R", averaged(a.token_sum)),
        Candidate("sum over tokens, never divided", "1", a.token_sum),
    ]
    if window.micro_batches == 1:
        return found
    return [
        *found,
        Candidate(
            f"mean of micro-batch means per rank, {both}",
            "1/(R M n_rm)",
            lambda n_mb: a.per_rank_mean_of_micro_batch_means(split(n_mb)),
        ),
        Candidate(f"sum of micro-batch means per rank, {both}", "1/(R n_rm)", averaged(a.sum_of_micro_batch_means)),
        Candidate(f"sum of micro-batch means over all ranks, {both}", "1/n_rm", a.sum_of_micro_batch_means),
        Candidate(f"token mean times M = {m}", "M/N", times(m)),
        Candidate(f"token mean divided once more by M = {m}", "1/(M N)", times(1 / m)),
        Candidate(f"token mean times R M, {both}", "R M/N", times(r * m)),
        *(
            Candidate(
                f"mean of micro-batch means divided by {k} though only M = {m} ran, {ranks}",
                f"1/(R {k} n_rm)",
                averaged(partial(a.short_window, accumulation=k)),
            )
            for k in range(m + 1, 2 * m + 1)
        ),
    ]


def same_form(window: Window, of: str, one: Candidate, other: Candidate) -> bool:
    """Whether two forms give the same weights on these rows."""
    pairs = zip(one.form(window.counts(of)), other.form(window.counts(of)))
    return all(np.allclose(a, b, rtol=1e-9, atol=0) for a, b in pairs)

"""Name the formula that a window of weights follows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from closed_forms import aggregation, rounding

from .record import Floats, Record, Row, Window

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


@dataclass(frozen=True)
class Fit:
    """How well a candidate explains a window.

    Attributes:
        candidate: the form.
        deviation: largest |w - form| over the targets, times N: 0.01 means one per cent of a token-mean weight.
        fits: every target lies within its own rounding tolerance, and exact zeros are exactly zero.
    """

    candidate: Candidate
    deviation: float
    fits: bool


@dataclass(frozen=True)
class Verdict:
    """What a window did.

    Attributes:
        name: the form that fits, or None.
        equation: its weight of a target; empty when none fits.
        nearest: the candidate with the smallest deviation.
        same: other candidates that fit equally well on these rows.
        faults: everything that is wrong, in words; empty on a correct window.
        remarks: what is no fault by itself but belongs to the answer, as label smoothing does.
    """

    name: str | None
    equation: str
    nearest: Fit
    same: tuple[str, ...]
    faults: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Nothing is wrong: the token mean, and no gradient where none should be."""
        return not self.faults


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


def scaled_mean(record: Record, window: Window, of: str) -> list[Candidate]:
    """The token mean times the one number that fits best: a loss scale, a miscounted N, a factor."""
    weights = readable_weights(record, window, of)
    if not weights.size or not np.median(weights):
        return []
    c = float(np.median(weights)) * sum(sum(counts) for counts in window.counts(of))
    return [
        Candidate(f"token mean times {c:.6g}", f"{c:.6g}/N", lambda n: aggregation.scaled(aggregation.token_mean(n), c))
    ]


def same_form(window: Window, of: str, one: Candidate, other: Candidate) -> bool:
    """Whether two forms give the same weights on these rows."""
    pairs = zip(one.form(window.counts(of)), other.form(window.counts(of)))
    return all(np.allclose(a, b, rtol=1e-9, atol=0) for a, b in pairs)


def tolerance(record: Record, row: Row, micro_batches: int) -> Floats:
    """[n] relative error of each weight that rounding alone explains; nan where that is a tenth or more: no reading."""
    allowed = np.full(row.weight.shape, np.nan)
    read = np.isfinite(row.amplification) & (row.amplification > 0)
    allowed[read] = rounding.weight_tolerance(
        record.vocabulary, record.loss_dtype, record.work_dtype, row.amplification[read], micro_batches
    )
    allowed[allowed >= 0.1] = np.nan
    return allowed


def compare(record: Record, window: Window, candidate: Candidate, of: str) -> Fit | None:
    """Fit one form to the rows of a window; None where the form is undefined on them (it would divide by zero)."""
    try:
        expected = candidate.form(window.counts(of))
    except ValueError:
        return None
    deviation, fits, readable = 0.0, True, 0
    n = sum(sum(counts) for counts in window.counts(of))
    for row, value in zip(window.by_micro_batch(), expected):
        weight = (row.weight + row.uniform)[getattr(row, of)]
        allowed = tolerance(record, row, window.micro_batches)[getattr(row, of)]
        seen = ~np.isnan(allowed)
        miss = np.abs(weight - value)[seen]
        deviation = max(deviation, float(np.max(miss, initial=0.0)) * n)
        fits = fits and bool(np.all(miss <= (allowed * np.abs(value))[seen]))
        readable += miss.size
    return Fit(candidate, deviation, fits and readable > 0)


def judge(record: Record, window: Window) -> Verdict:
    """Say which formula a window follows, and everything that is wrong with it."""
    faults = []
    n = max(window.targets(), 1)
    of = "intended"
    missed = sum(int((row.intended & ~row.scored).sum()) for row in window.rows)
    extra = sum(int((row.scored & ~row.intended).sum()) for row in window.rows)
    if missed or extra:
        of = "scored"
    if missed:
        faults.append(f"{missed} of {n} targets that should be scored carried no label")
    if extra:
        faults.append(f"{extra} targets carried a label that should not be scored")
    scored = sum(sum(counts) for counts in window.counts(of))
    if not scored:
        raise ValueError("no target of the window is scored, so there is no weight to name: check the labels")
    fits = [fit for c in candidates(window) if (fit := compare(record, window, c, of)) is not None]
    if not any(fit.fits for fit in fits):
        fits += [fit for c in scaled_mean(record, window, of) if (fit := compare(record, window, c, of)) is not None]
    good = [fit for fit in fits if fit.fits]
    nearest = good[0] if good else min(fits, key=lambda fit: fit.deviation)
    if unreadable(record, window) == scored:
        faults.append(
            f"none of {scored} targets can be read: rounding in {record.work_dtype} explains a tenth of a weight or "
            "more, or the model is certain of them"
        )
    elif not good:
        faults.append(
            f"token weights follow none of {len(fits)} known formulas; the nearest is the {nearest.candidate.name} "
            f"({nearest.candidate.equation}), off by up to {nearest.deviation:.3g} of a token-mean weight"
        )
    elif nearest.candidate.name != "token mean":
        low, high = spread(record, window, of)
        faults.append(
            f"token weights follow the {nearest.candidate.name} ({nearest.candidate.equation}), not the token mean: "
            f"targets weigh {low:.4g} to {high:.4g} times 1/N"
        )
    if good:
        faults += [
            f"rounding in {record.work_dtype} hides whether it is {nearest.candidate.name} or {fit.candidate.name}"
            for fit in good[1:]
            if not same_form(window, of, nearest.candidate, fit.candidate)
        ]
    faults += elsewhere(record, window, n)
    return Verdict(
        nearest.candidate.name if good else None,
        nearest.candidate.equation if good else "",
        nearest,
        tuple(fit.candidate.name for fit in good[1:]),
        tuple(faults),
        tuple(remarks(record, window, scored)),
    )


def spread(record: Record, window: Window, of: str) -> tuple[float, float]:
    """Smallest and largest weight of a target that can be read, times N."""
    n = sum(sum(counts) for counts in window.counts(of))
    weights = readable_weights(record, window, of)
    return float(weights.min()) * n, float(weights.max()) * n


def readable_weights(record: Record, window: Window, of: str) -> Floats:
    """Weights of all targets that can be read, label smoothing's share included."""
    return np.concatenate(
        [
            (row.weight + row.uniform)[getattr(row, of) & ~np.isnan(tolerance(record, row, window.micro_batches))]
            for row in window.rows
        ]
    )


def unreadable(record: Record, window: Window) -> int:
    """Scored targets of which no weight can be told."""
    return sum(int(np.isnan(tolerance(record, r, window.micro_batches)[r.scored]).sum()) for r in window.rows)


def elsewhere_in_gradient(window: Window) -> list[str]:
    """Gradient where there should be none, exactly 0 on a correct stack, or none at all."""
    faults = []
    stray = sum(int(np.sum(row.weight[~row.intended] != 0)) for row in window.rows)
    if stray:
        faults.append(f"{stray} tokens that should not be scored have a gradient")
    if window.stray:
        ids = ", ".join(map(str, window.stray[:5])) + (" ..." if len(window.stray) > 5 else "")
        faults.append(f"{len(window.stray)} ids that precede no target of the rows have a gradient: {ids}")
    if window.padding:
        faults.append(f"gradient reaches padding, up to {window.padding:.3g} of the largest at a token")
    if window.carried:
        faults.append(f"the gradient still holds {len(window.carried)} rows that did not run in this window")
    if not window.reached:
        faults.append(f"0 of {window.trainable} trainable parameters hold a gradient")
    return faults


def missing(record: Record) -> list[str]:
    """Rows that were given and never ran."""
    rows = ", ".join(map(str, record.missing))
    return [f"{len(record.missing)} of the rows that were given never ran: {rows}"] if rows else []


def elsewhere(record: Record, window: Window, n: int) -> list[str]:
    """What is wrong apart from the weights of scored targets."""
    faults = elsewhere_in_gradient(window)
    rows = window.rows
    odd = sum(int(np.sum(unexplained(record, row, window.micro_batches))) for row in rows)
    if odd:
        faults.append(
            f"the gradient of {odd} of {n} targets is not a multiple of their own: another term or target is in"
        )
    share, low, high = smoothing_of(record, window)
    # Label smoothing is one number for all; a share is off by at most the rounding of its target, and so is the median.
    errors = [tolerance(record, row, window.micro_batches)[row.scored] for row in rows]
    slack = 2 * float(np.nanmax(np.concatenate(errors), initial=0.0))
    if low < share - slack or high > share + slack or not 0 <= share < 1:
        faults.append(f"the share of a target's weight that is spread over the vocabulary is {low:.3g} to {high:.3g}")
    lost = lost_on_the_way(window)
    if lost:
        faults.append(
            f"backward delivered other weights than the parameter's gradient holds, for {lost} of {n} targets"
        )
    return faults


def lost_on_the_way(window: Window) -> int:
    """Targets whose weight in the parameter's gradient is not what backward delivered."""
    # Both are sums of the same float64 numbers, in another order.
    same = [np.isclose(r.backward_weight, r.weight, rtol=1e-9, atol=0, equal_nan=True) for r in window.rows]
    return int(sum(np.sum(~near) for near in same))


def remarks(record: Record, window: Window, scored: int) -> list[str]:
    """What a reader should know though nothing is wrong."""
    said = []
    smoothing = smoothing_of(record, window)[0]
    if smoothing:
        said.append(f"label smoothing {smoothing:.3g}")
    blind = unreadable(record, window)
    if 0 < blind < scored:
        said.append(
            f"{blind} of {scored} targets cannot be read: rounding in {record.work_dtype} explains a tenth of a weight "
            "or more, as where the model is certain"
        )
    if not window.stepped:
        said.append("no optimizer step followed")
    return said


def unexplained(record: Record, row: Row, micro_batches: int) -> np.ndarray:
    """[n] scored targets whose gradient has a part that neither the target nor label smoothing explains."""
    allowed = tolerance(record, row, micro_batches) * np.abs(row.weight + row.uniform)
    return row.scored & (row.remainder > allowed)


def smoothing_of(record: Record, window: Window) -> tuple[float, float, float]:
    """Share of a target's weight that lies on the uniform direction: median, smallest, largest; 0 without smoothing."""
    shares = [np.zeros(0)]
    for row in window.rows:
        seen = row.scored & ~np.isnan(tolerance(record, row, window.micro_batches))
        total = (row.weight + row.uniform)[seen]
        shares.append(np.divide(row.uniform[seen], total, out=np.full(total.shape, np.inf), where=total != 0))
    share = np.concatenate(shares)
    share = share[np.isfinite(share)]
    return (float(np.median(share)), float(share.min()), float(share.max())) if share.size else (0.0, 0.0, 0.0)

"""Name the formula that a window of weights follows."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from closed_forms import aggregation

from . import codes
from .after_verdict import judge_after, stages
from .candidates import Candidate, Counts, candidates, expected_first, same_form
from .elsewhere import elsewhere, remarks
from .readable import readable_weights, spread, tolerance, unreadable
from .record import Floats, Record, Window
from .smoothing import smoothed


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
        stage: the first one of the step at which something is wrong: labels, loss, backward, all-reduce, clip or step;
            empty when nothing is.
        stages: one line for each stage, where what follows backward was measured.
    """

    name: str | None
    equation: str
    nearest: Fit
    same: tuple[str, ...]
    faults: tuple[str, ...]
    remarks: tuple[str, ...]
    stage: str = ""
    stages: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Nothing is wrong: the form that was expected, and no gradient where none should be."""
        return not self.faults


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
    fits = [fit for c in expected_first(window, record.expect) if (fit := compare(record, window, c, of)) is not None]
    if not any(fit.fits for fit in fits):
        fits += [fit for c in scaled_mean(record, window, of) if (fit := compare(record, window, c, of)) is not None]
    if not any(fit.fits for fit in fits):
        fits += [fit for c in under_a_scale(record, window, of) if (fit := compare(record, window, c, of)) is not None]
    good = [fit for fit in fits if fit.fits]
    meant = expected_first(window, record.expect)[0]
    share = 0.0 if any(fit.candidate.name == meant.name for fit in good) else smoothed(record, window, meant, of)
    if share and not good:
        good = [Fit(meant, 0.0, True)]
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
    elif nearest.candidate.name != record.expect and share:
        faults.append(
            f"the classes are two or too much alike, which hides whether it is {meant.name} with label smoothing "
            f"{share:.3g} or {nearest.candidate.name}"
        )
    elif nearest.candidate.name != record.expect:
        weights = " to ".join(dict.fromkeys(f"{end:.4g}" for end in spread(record, window, of)))
        faults.append(
            f"token weights follow the {nearest.candidate.name} ({nearest.candidate.equation}), "
            f"not the {record.expect}: targets weigh {weights} times 1/N"
        )
    if good:
        faults += [
            f"rounding in {record.work_dtype} hides whether it is {nearest.candidate.name} or {fit.candidate.name}"
            for fit in good[1:]
            if not same_form(window, of, nearest.candidate, fit.candidate)
        ]
    known = nearest.candidate.name in {c.name for c in expected_first(window, record.expect)}
    beside = elsewhere(record, window, n, share)
    # A number that no formula explains may come of padding that is counted: the cause is told first.
    cause = [] if known else [fault for fault in beside if codes.code_of(fault) == "padding-trained"]
    faults = [*cause, *faults, *(fault for fault in beside if fault not in cause)]
    verdict = Verdict(
        nearest.candidate.name if good else None,
        nearest.candidate.equation if good else "",
        nearest,
        tuple(fit.candidate.name for fit in good[1:]),
        tuple(faults),
        tuple(remarks(record, window, scored, share if good and nearest.candidate is meant else 0.0)),
    )
    if window.after is not None:
        verdict = with_after(record, window, verdict, loss_scale(record, window, of), known)
    return replace(verdict, stage=codes.first_stage(verdict.faults))


def with_after(record: Record, window: Window, verdict: Verdict, scale: float, known: bool) -> Verdict:
    """A verdict with what was measured after backward; a loss scale that was undone before the step is no fault.

    Args:
        known: the weights follow a formula that has a cause of its own, as M times the token mean has.
    """
    right = verdict.name == record.expect
    if right or verdict.name is None:
        scale = 1.0
    found = judge_after(record, window, right, scale)
    if known and any(remark.startswith("clipped from") for remark in found.remarks):
        # A clip leaves the same step whether or not a scale was undone before it, so the known cause stands.
        found = judge_after(record, window, right, 1.0)
    faults = verdict.faults
    if found.undone != 1 and record.expect == "token mean":
        faults = tuple(f for f in faults if not f.startswith("token weights follow"))
        verdict = replace(verdict, name="token mean", equation="1/N, once the loss scale is undone")
    loss = f"{'ok' if verdict.name == record.expect else 'FAULT'}: {verdict.name or 'no known formula'}"
    return replace(
        verdict,
        faults=(*faults, *(sentence for _, sentence in found.faults)),
        remarks=(*verdict.remarks, *found.remarks),
        stages=tuple(stages(record, window, found.faults, loss)),
    )


def under_a_scale(record: Record, window: Window, of: str) -> list[Candidate]:
    """The known forms times the power of two, 2 or more, that fits best, where what follows backward was measured."""
    if window.after is None:
        return []
    rows, found = window.by_micro_batch(), []
    scored = [getattr(row, of) for row in rows]
    weights = np.concatenate([row.weight[marks] for row, marks in zip(rows, scored)])
    read = np.concatenate([tolerance(record, row, window.micro_batches)[marks] for row, marks in zip(rows, scored)])
    for c in candidates(window)[1:]:
        try:
            values = np.concatenate(c.form(window.counts(of)))
        except ValueError:
            continue
        told = ~np.isnan(read) & (values > 0)
        middle = float(np.median(weights[told] / values[told])) if told.any() else 1.0
        power = 2.0 ** round(np.log2(middle)) if middle > 1.5 else 1.0
        if power > 1:
            words = f"{c.name}, loss scale {power:g}", f"{power:g} times {c.equation}"
            found.append(Candidate(*words, partial(times, c, power)))
    return found


def times(candidate: Candidate, factor: float, counts: Counts) -> list[Floats]:
    """A form times a number."""
    return aggregation.scaled(candidate.form(counts), factor)


def loss_scale(record: Record, window: Window, of: str) -> float:
    """The power of two, 2 or more, by which every weight is over 1/N, as torch.amp.GradScaler sets it; 1 if none."""
    weights = readable_weights(record, window, of)
    factor = float(np.median(weights)) * sum(sum(counts) for counts in window.counts(of)) if weights.size else 1.0
    power = 2.0 ** round(np.log2(factor)) if factor > 1.5 else 1.0
    scaled = Candidate("", "", lambda n: aggregation.scaled(aggregation.token_mean(n), power))
    fit = compare(record, window, scaled, of)
    return power if fit is not None and fit.fits else 1.0


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


def scaled_mean(record: Record, window: Window, of: str) -> list[Candidate]:
    """The token mean times the one number that fits best: a loss scale, a miscounted N, a factor."""
    weights = readable_weights(record, window, of)
    if not weights.size or not np.median(weights):
        return []
    c = float(np.median(weights)) * sum(sum(counts) for counts in window.counts(of))
    return [
        Candidate(f"token mean times {c:.6g}", f"{c:.6g}/N", lambda n: aggregation.scaled(aggregation.token_mean(n), c))
    ]

"""The checks of `weighbridge report`: what the installed stack does with tracer rows, beside what it should do."""

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from closed_forms import aggregation

from . import broken, leak_checks, peft_checks, probe, trl_checks
from .api import Report, expected_weights, xray_rows
from .leak_record import LeakRun
from .loops import accelerate_loop, trainer
from .loops.data import library_collator
from .objective_record import NotRun, ObjectiveRun
from .objective_verdict import judge_objective
from .record import Floats

UNEVEN = (5, 9, 3, 12, 7, 4, 10, 6)
OK, KNOWN, FAULT, NOT_RUN = "ok", "known", "FAULT", "not run"


@dataclass(frozen=True)
class Outcome:
    """What one check found.

    Attributes:
        name: of the check.
        group: "trainer", "accelerate", "leaks", "peft" or "trl".
        expected: what should be measured, in words.
        measured: what was.
        status: "ok"; "known" for a deviation that is documented and has the form that is documented; "not run" where
            what is installed cannot; "FAULT" else, also where a check ended in an error.
        deviation: largest |w - expected| * N; of a leak, the largest foreign gradient over the largest own; of a loss
            of TRL, largest |w - expected| over the largest weight.
        seconds: how long it took.
        report: everything behind it.
    """

    name: str
    group: str
    expected: str
    measured: str
    status: str
    deviation: float
    seconds: float
    report: Report | LeakRun | ObjectiveRun | NotRun


Run = Callable[[], tuple[Any, list[float]]]
Judge = Callable[[Any, list[float]], tuple[str, str, float]]


@dataclass(frozen=True)
class Check:
    """One question to the installed stack.

    Attributes:
        name: of the check.
        group: as in Outcome.
        expected: in words.
        run: gives a report, and what the loop logged.
        judge: from these to what was measured in words, the status, and the deviation.
    """

    name: str
    group: str
    expected: str
    run: Run
    judge: Judge


def all_checks() -> list[Check]:
    """Every check, in the order of the report."""

    def trained(name: str, expected: str, judge: Judge = token_mean, **options: Any) -> Check:
        return Check(name, "trainer", expected, driven(trainer.run_trainer, trainer.CHANGES, **options), judge)

    mean, clean = "token mean", "token mean, none on padding"
    smooth = "0.9/N on the target, 0.1/N spread evenly"
    objective = "the objective that was differentiated"
    ends = with_library_collator(probe.tracer_rows(UNEVEN, end_with_eos=True), probe.EOS, "right")
    left = with_library_collator(probe.tracer_rows(UNEVEN), probe.PAD, "left")
    by_hand = driven(accelerate_loop.run_accelerate, accelerate_loop.CHANGES, micro_batch=2, accumulation=4)
    return [
        trained("accumulation 1x8", mean, micro_batch=8),
        trained("accumulation 4x2", mean, micro_batch=2, accumulation=4),
        trained("accumulation 2x4", mean, micro_batch=4, accumulation=2),
        trained("one row per micro-batch", mean, micro_batch=1, accumulation=8),
        trained("shuffled order", mean, micro_batch=2, accumulation=4, train_sampling_strategy="random"),
        trained("padding right, 7 more", clean, micro_batch=4, accumulation=2, pad_to=19),
        trained("padding left, 7 more", clean, micro_batch=4, accumulation=2, pad_to=19, padding_side="left"),
        trained("tail window of 2 of 3", mean, micro_batch=1, accumulation=3),
        trained("label smoothing 0.1", smooth, smoothed, micro_batch=2, accumulation=4, label_smoothing_factor=0.1),
        trained("logged loss", objective, logged_loss, micro_batch=2, accumulation=4),
        Check("pad = EOS, library collator", "trainer", f"{mean}, EOS targets too", ends, eos_targets),
        Check("padding left, library collator", "trainer", clean, left, left_padding),
        Check("hand-written loop", "accelerate", mean, by_hand, mean_of_means),
        *leak_checks_here(),
        *peft_checks_here(),
        *trl_checks_here(),
    ]


def leak_checks_here() -> list[Check]:
    """Every leak check that what is installed allows."""

    def searched(name: str, run: Callable[[], LeakRun], judge: Judge = leak_checks.apart) -> Check:
        return Check(name, "leaks", "no document reads another", lambda: (run(), []), judge)

    flat, known, packs = leak_checks.called, leak_checks.one_after_another, {"packing": True, "max_length": 12}
    checks = [
        searched("padded rows, Trainer", leak_checks.padded),
        searched("flattened rows, Trainer", leak_checks.flattened),
        searched("joined without boundaries", flat(position_ids=None), known),
        searched("position_ids, use_cache=False", flat(use_cache=False)),
        searched("position_ids, default call", flat(), known),
    ]
    if importlib.util.find_spec("trl") is None:
        return checks
    sft, wrapped = leak_checks.in_sft, {**packs, "packing_strategy": "wrapped"}
    return [
        *checks,
        searched("TRL padding_free", sft(padding_free=True, max_length=None)),
        searched("TRL packing bfd", sft(**packs)),
        searched("TRL packing bfd_split", sft(**packs, packing_strategy="bfd_split")),
        searched("TRL packing wrapped", sft(**wrapped), leak_checks.within_packs),
    ]


def peft_checks_here() -> list[Check]:
    """Every check of an adapter."""

    def checked(name: str, expected: str, run: Callable[[], Report], judge: Judge) -> Check:
        return Check(name, "peft", expected, lambda: (run(), []), judge)

    return [checked(*each) for each in peft_checks.peft_checks()]


def trl_checks_here() -> list[Check]:
    """Every check of a loss of TRL."""

    def checked(name: str, expected: str, run: Callable[[], ObjectiveRun | NotRun]) -> Check:
        return Check(name, "trl", expected, lambda: (trl_checks.or_reason(run), []), judge_objective)

    return [checked(*each) for each in trl_checks.trl_checks()]


def run_checks(only: str | None = None) -> Iterator[Outcome]:
    """Run the checks, one at a time.

    Args:
        only: name of a group, or part of a check's name.

    Raises:
        LookupError: no check is called so.
    """
    for check in choose(only):
        start = time.perf_counter()
        try:
            report, logged = check.run()
            measured, status, deviation = check.judge(report, logged)
        except ImportError as missing:
            # What an older release has not got, e.g. a collator, costs its own line.
            measured, status, deviation = str(missing).partition(" (")[0], NOT_RUN, 0.0
            report = NotRun(measured)
        except Exception as error:
            # A seam that moved shows in many ways: it costs its own line too, and is no pass.
            measured, status, deviation = broken.told(check.group, error), FAULT, float("nan")
            report = NotRun(measured)
        seconds = time.perf_counter() - start
        yield Outcome(check.name, check.group, check.expected, measured, status, deviation, seconds, report)


def choose(only: str | None = None, among: list[Check] | None = None) -> list[Check]:
    """The checks of that group, or with that in their name; among those of the report when left out."""
    checks = all_checks() if among is None else among
    chosen = [c for c in checks if only is None or (only and (only == c.group or only.lower() in c.name.lower()))]
    if not chosen:
        groups = ", ".join(sorted({c.group for c in checks}))
        raise LookupError(
            f"--only {only!r} matches no check: give a group ({groups}) or part of a name, e.g. 'padding'"
        )
    return chosen


def driven(
    drive: Callable[..., list[float]], changes: dict[str, str], rows: list[list[int]] | None = None, **options: Any
) -> Run:
    """A run of a loop on given rows, or on uneven ones."""

    def run() -> tuple[Report, list[float]]:
        logged: list[float] = []
        given = probe.tracer_rows(UNEVEN) if rows is None else rows
        report = xray_rows(lambda model, rows: logged.extend(drive(model, rows, **options)), given)
        report.record.changes.update(changes)
        report.record.logged.extend(logged)
        return report, logged

    return run


def with_library_collator(rows: list[list[int]], pad: int, side: str) -> Run:
    """A run of the Trainer with DataCollatorForLanguageModeling."""
    collator = library_collator(probe.vocabulary_for(rows), pad, side)
    changes = {**trainer.CHANGES, "data_collator": f"DataCollatorForLanguageModeling, {side} padding with id {pad}"}
    return driven(trainer.run_trainer, changes, rows, micro_batch=4, accumulation=2, collator=collator)


def token_mean(report: Report, logged: list[float]) -> tuple[str, str, float]:
    """Every verdict must be a clean token mean."""
    verdicts = report.verdicts
    deviation = report.deviation_from(expected_weights(report, aggregation.token_mean))
    bad = [v for v in verdicts if not v.ok or v.remarks]
    if bad:
        return "; ".join(bad[0].faults + bad[0].remarks), FAULT, deviation
    return "token mean", OK, deviation


def smoothed(report: Report, logged: list[float], share: float = 0.1) -> tuple[str, str, float]:
    """The target must keep 1 - share of its weight, the uniform direction must carry the rest, and nothing be left."""
    n = report.windows[0].targets()
    deviation = max(
        float(np.max(np.abs(np.stack([row.weight * n - (1 - share), row.uniform * n - share])))) for row in report.rows
    )
    good = all(v.ok for v in report.verdicts) and deviation <= report.rounding()
    said = [f for v in report.verdicts for f in (*v.faults, *v.remarks)]
    return "; ".join(said) or "no smoothing", OK if good else FAULT, deviation


def logged_loss(report: Report, logged: list[float]) -> tuple[str, str, float]:
    """The logged loss must be the objective, but for float32 rounding of the log."""
    objectives = [window.objective() for window in report.windows]
    if len(objectives) != len(logged):
        return f"{len(logged)} losses logged for {len(objectives)} optimizer steps", FAULT, float("nan")
    ratio = max(abs(a / b - 1) for a, b in zip(logged, objectives))
    # Releases of transformers before 5 round what they log to four decimals.
    half = 0.5e-4 if all(a == round(a, 4) for a in logged) else 0.0
    good = all(abs(a - b) <= report.rounding() * b + half for a, b in zip(logged, objectives))
    return f"logged {logged[0]:.6f}, objective {objectives[0]:.6f}", OK if good else FAULT, ratio


def eos_targets(report: Report, logged: list[float]) -> tuple[str, str, float]:
    """A token mean is right; that the collator drops the EOS targets is known."""
    dropped = [list(row.target[row.intended] == probe.EOS) for row in report.rows]
    known = "EOS targets weigh 0: the collator masks every label equal to the padding id (HF#23530)"
    expected = expected_weights(report, aggregation.targets_dropped, dropped=dropped)
    return right_or_known(report, known, expected, ["carried no label"])


def left_padding(report: Report, logged: list[float]) -> tuple[str, str, float]:
    """A token mean is right; that the padding is trained to predict each row's first token is known."""
    extra = len([row for row in report.rows if len(row.ids) < width_of(report, row)])
    n = report.windows[0].targets()
    known = f"{extra} first tokens are trained as targets of the padding before them, so N is {n + extra} and not {n}"
    expected = [np.full(len(row.weight), 1 / (n + extra)) for row in report.rows]
    return right_or_known(report, known, expected, ["token weights follow", "reaches padding", "precede no target"])


def width_of(report: Report, row: Any) -> int:
    """Tokens of the longest row in the same micro-batch: the width to which the collator pads."""
    return max(len(other.ids) for other in report.rows if other.micro_batch == row.micro_batch)


def mean_of_means(report: Report, logged: list[float]) -> tuple[str, str, float]:
    """A token mean is right; that such a loop averages micro-batch means is known, and must be named by the verdict."""
    name = report.verdicts[0].name
    m = report.windows[0].micro_batches
    known = f"mean of micro-batch means, M = {m}"
    expected = expected_weights(report, aggregation.mean_of_micro_batch_means)
    measured, status, deviation = right_or_known(report, known, expected, ["token weights follow"])
    if status == KNOWN and name != known:
        return f"the verdict calls it {name}", FAULT, deviation
    return measured, status, deviation


def right_or_known(report: Report, known: str, expected: list[Floats], words: Sequence[str]) -> tuple[str, str, float]:
    """OK for a token mean, KNOWN for the expected deviation and nothing else wrong, FAULT for anything else.

    Args:
        known: the deviation, in words.
        expected: its weights.
        words: one of these stands in each fault that the verdict finds because of it.
    """
    if report.ok:
        return "token mean", OK, report.deviation_from(expected_weights(report, aggregation.token_mean))
    deviation = report.deviation_from(expected)
    largest = max(float(np.max(value)) for value in expected) * report.windows[0].targets()
    faults = [fault for verdict in report.verdicts for fault in verdict.faults]
    others = [fault for fault in faults if not any(word in fault for word in words)]
    if deviation <= report.rounding() * largest and not others:
        return known, KNOWN, deviation
    return "; ".join(others or faults), FAULT, deviation

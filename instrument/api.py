"""The public instrument: xray a loop on tracer rows, or watch your own model while it trains."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from . import live_record, locate, probe, probe_record, verdict
from .record import Bools, Floats, Record, Row, Window
from .report import as_json, as_text


class Report:
    """What each token weighed, and the verdict on it.

    `xray` returns one; `watch` yields one that grows with every window run inside. A report of several windows gives
    its rows window by window.
    """

    def __init__(self, record: Record) -> None:
        self.record = record

    @property
    def windows(self) -> list[Window]:
        """What was measured, window by window."""
        return self.record.windows

    @property
    def rows(self) -> list[Row]:
        """Every row of every window, in the caller's order (xray) or in order of appearance (watch)."""
        self._refuse_when_empty()
        return [row for window in self.windows for row in window.rows]

    @property
    def weights(self) -> list[Floats]:
        """[row][n] absolute weight of each next-token target; 1/N each under a token mean over N targets."""
        return [row.weight for row in self.rows]

    @property
    def verdicts(self) -> list[verdict.Verdict]:
        """One verdict per window; the last one also tells of rows that ran in none."""
        self._refuse_when_empty()
        found = [verdict.judge(self.record, window) for window in self.windows]
        return [*found[:-1], replace(found[-1], faults=(*found[-1].faults, *verdict.missing(self.record)))]

    @property
    def ok(self) -> bool:
        """Every window is a token mean and has no gradient where none should be."""
        return all(v.ok for v in self.verdicts)

    def deviation_from(self, expected: Sequence[ArrayLike]) -> float:
        """Largest |w - expected| over all targets, times N of the window: 0.01 is one per cent of a token-mean weight.

        Args:
            expected: [row][n] one value for each intended target of each row.

        Raises:
            ValueError: another number of rows, or of targets in a row.
        """
        return float(np.max(self._misses(expected)[0], initial=0.0))

    def assert_weights(self, expected: Sequence[ArrayLike], tol: float | None = None) -> None:
        """Fail unless every weight is as expected and the gradient holds nothing else.

        Nothing else: no other direction than the targets' own; no unlabelled token, no padding and no row that did not
        run has a gradient; some parameter has one; and every row ran. So it fails under label smoothing.

        Args:
            expected: [row][n] as in deviation_from.
            tol: largest |w - expected| * N allowed; what rounding explains of each target when left out.

        Raises:
            ValueError: as deviation_from, and without tol when rounding explains any weight of some target.
        """
        miss, allowed = self._misses(expected)
        allowed = allowed if tol is None else np.full(miss.shape, tol)
        refuse_unreadable(np.isnan(allowed))
        off = miss > allowed
        if off.any():
            worst = int(np.argmax(np.where(off, miss, 0)))
            raise AssertionError(
                f"weights are off by {miss[worst]:.3g} of a token mean, {allowed[worst]:.3g} allowed\n{self}"
            )
        lost = sum(verdict.lost_on_the_way(w) for w in self.windows)
        if lost:
            raise AssertionError(
                f"backward delivered other weights than the parameter holds, for {lost} targets\n{self}"
            )
        left = self._remainders()
        off = left > allowed
        if off.any():
            raise AssertionError(
                f"{left[int(np.argmax(left))]:.3g} of a token mean lies off the targets' own gradients: another term "
                f"or target is in\n{self}"
            )
        stray = [f for w in self.windows for f in verdict.elsewhere_in_gradient(w)] + verdict.missing(self.record)
        if stray:
            raise AssertionError(f"{'; '.join(stray)}\n{self}")

    def assert_token_mean(self, tol: float | None = None) -> None:
        """Fail unless every target of each window weighs 1/N; arguments as in assert_weights."""
        self._refuse_when_empty()
        expected = [
            np.full(int(row.intended.sum()), 1 / window.targets()) for window in self.windows for row in window.rows
        ]
        self.assert_weights(expected, tol)

    def assert_pure_rescaling(self, tol: float | None = None) -> None:
        """Fail unless each target's gradient is its own cross-entropy gradient times a number, whatever the number.

        Args:
            tol: largest remainder allowed, as a share of the weight; what rounding explains of each target when left
                out.

        Raises:
            ValueError: a target cannot be read, or without tol when rounding explains any weight of some target.
        """
        self._refuse_when_empty()
        measured = [(r, verdict.tolerance(self.record, r, w.micro_batches)) for w in self.windows for r in w.rows]
        left = np.concatenate([row.remainder + np.abs(row.uniform) for row, _ in measured])
        weight = np.concatenate([np.abs(row.weight) for row, _ in measured])
        allowed = np.concatenate([share if tol is None else np.full(share.shape, tol) for _, share in measured])
        # nan != 0, so what cannot be read is there; an unlabelled token is not.
        there = (left != 0) | (weight != 0)
        refuse_unreadable(np.isnan(weight + allowed)[there])
        off = there & (left > allowed * weight)
        if off.any():
            worst = int(np.argmax(np.where(off, left - allowed * weight, -np.inf)))
            share = left[worst] / weight[worst] if weight[worst] else np.inf
            raise AssertionError(
                f"a share of {share:.3g} of a target's gradient is not its own cross-entropy gradient, "
                f"{allowed[worst]:.3g} allowed\n{self}"
            )

    def rounding(self) -> float:
        """Largest relative error of a weight that rounding alone explains."""
        errors = [
            verdict.tolerance(self.record, row, window.micro_batches)[row.intended]
            for window in self.windows
            for row in window.rows
        ]
        return float(np.nanmax(np.concatenate(errors), initial=0.0))

    def table(self) -> str:
        """The measured weights as text, one line per row of each window, and the verdict."""
        return as_text.table(self.record, self.verdicts)

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything that was measured, as JSON; written to `path` too when one is given."""
        text = json.dumps(as_json.report(self.record, self.verdicts), indent=2, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n")
        return text

    def __str__(self) -> str:
        return self.table()

    def _misses(self, expected: Sequence[ArrayLike]) -> tuple[Floats, Floats]:
        """[all targets] |w - expected| * N, and how much of it rounding explains; nan where it explains any weight."""
        expected, misses, allowed = list(expected), [], []
        if len(expected) != len(self.rows):
            raise ValueError(
                f"expected holds {len(expected)} rows but {len(self.rows)} were measured: give one per row"
            )
        measured = [(window, row) for window in self.windows for row in window.rows]
        for number, ((window, row), values) in enumerate(zip(measured, expected)):
            value, weight = np.asarray(values, dtype=np.float64), row.weight[row.intended]
            if value.shape != weight.shape:
                raise ValueError(
                    f"expected[{number}] holds {value.size} weights but the row has {weight.size} targets: "
                    "give one weight for each scored target"
                )
            rounding = verdict.tolerance(self.record, row, window.micro_batches)[row.intended]
            misses.append(np.abs(weight - value) * window.targets())
            allowed.append(rounding * np.abs(value) * window.targets())
        miss = np.concatenate(misses)
        refuse_unreadable(np.isnan(miss))
        return miss, np.concatenate(allowed)

    def _remainders(self) -> Floats:
        """[all targets] part of the gradient that is not along the target's own, times N."""
        parts = [
            (row.remainder + np.abs(row.uniform))[row.intended] * window.targets()
            for window in self.windows
            for row in window.rows
        ]
        return np.concatenate(parts)

    def _refuse_when_empty(self) -> None:
        if not self.windows:
            raise RuntimeError(
                "no window was measured yet: read the report after the watched block, or after an optimizer step in it"
            )


def refuse_unreadable(unreadable: Bools) -> None:
    """Raise when a comparison would rest on weights that nobody knows."""
    if unreadable.any():
        raise ValueError(
            f"{int(unreadable.sum())} of {unreadable.size} targets cannot be read: rounding explains any weight, as "
            "where the model is certain of the target; watch an earlier state of the model, or one in a wider dtype"
        )


def xray(
    step: Callable[[Any, list[list[int]]], Any],
    lengths: Sequence[int],
    seed: int = 0,
    *,
    labelled: Sequence[Sequence[bool]] | None = None,
) -> Report:
    """Run a training step on tracer rows and measure what each target weighs in the parameters' gradient.

    Args:
        step: step(model, rows) trains the given model on the given rows of token ids, in any way: it batches, runs the
            model, calls backward, and steps an optimizer or not. What it returns is ignored.
        lengths: [b] tokens of each row, at least 2.
        seed: of the tracer ids and the probe's weights.
        labelled: [b][n - 1] which of the row's next-token targets the step ought to score; all when left out.

    Returns:
        A report whose rows stand in the order of `lengths`.

    Raises:
        ValueError, RuntimeError: a row without a target; a step that never runs the model or never calls backward;
            a frozen or compiled model; labels of another shape; a gradient that is not finite.
    """
    return xray_rows(step, probe.tracer_rows(lengths, seed), seed, labelled=labelled)


def xray_rows(
    step: Callable[[Any, list[list[int]]], Any],
    rows: Sequence[Sequence[int]],
    seed: int = 0,
    *,
    labelled: Sequence[Sequence[bool]] | None = None,
) -> Report:
    """As xray, on rows of your own: an id may be the input of several targets, which least squares tells apart."""
    rows = probe.read_rows(rows)
    intended = [[True] * (len(row) - 1) for row in rows] if labelled is None else [list(marks) for marks in labelled]
    odd = [mark for marks in intended for mark in marks if not isinstance(mark, (bool, np.bool_))]
    if odd:
        raise ValueError(f"labelled holds {odd[0]!r}: give True or False for each target, not ids or labels")
    if labelled is not None and [len(i) for i in intended] != [len(row) - 1 for row in rows]:
        raise ValueError(
            f"labelled has rows of {[len(i) for i in intended]} marks for rows of {[len(row) for row in rows]} tokens: "
            "give one mark per target, which is one fewer than the tokens of the row"
        )
    model = probe.build_probe(probe.vocabulary_for(rows), seed)
    recorder = probe_record.ProbeRecorder(model, rows, intended)
    try:
        with recorder.capture:
            step(model, [list(row) for row in rows])
    finally:
        recorder.release()
    return Report(recorder.record)


class watch:  # read as a verb: `with watch(model):`
    """Measure every window that is trained inside, on your own model and data, without changing the run.

        with watch(model) as report:
            trainer.train()
        print(report)

    Args:
        model: a causal model of transformers, a PEFT wrapper of one, or any module with the two arguments below.
        read_point: the module whose output feeds the head, or its name.
        head: from hidden states to logits: a module, its name, or a function.

    Raises:
        ValueError, LookupError: at once, when the model cannot be watched (frozen, compiled, no read point found); when
            the block ends, when nothing could be measured in it.
    """

    def __init__(self, model: nn.Module, *, read_point: nn.Module | str | None = None, head: Any = None) -> None:
        self._recorder = live_record.LiveRecorder(locate.locate(model, read_point, head))

    def __enter__(self) -> Report:
        self._recorder.capture.__enter__()
        return Report(self._recorder.record)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._recorder.capture.__exit__(kind, error, tb)


def expected_weights(report: Report, form: Callable[..., list[Floats]], **arguments: Any) -> list[Floats]:
    """Evaluate a closed form on the counts of a report and put its rows in the report's order.

    Args:
        form: from closed_forms.aggregation, taking one window's counts.
        arguments: its other arguments.
    """
    found = []
    for window in report.windows:
        by_id = {id(row): value for row, value in zip(window.by_micro_batch(), form(window.counts(), **arguments))}
        found += [by_id[id(row)] for row in window.rows]
    return found

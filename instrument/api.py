"""The public instrument: xray a loop on tracer rows, or watch your own model while it trains."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from torch import nn

from . import after, label_record, live_record, locate, probe, probe_record, refusals, step_verdict
from .candidates import objectives
from .record import Floats
from .report.report import Report


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
    if not callable(step):
        raise ValueError(f"step is {step!r}: give a function, step(model, rows), that trains on the rows it is handed")
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
        model: of transformers, or a PEFT wrapper of one: a causal model, a classifier of rows or tokens, a masked
            language model, a multiple choice, an encoder-decoder; or any module with the two arguments below.
        optimizer: the torch.optim optimizer that trains it, or a list of them. When given, everything after backward
            is measured too: which parameters a gradient reaches, whether the gradient that each step consumes is what
            the tokens contributed, and whether the parameters then move by the optimizer's own rule.
        max_norm: to which the loop clips the gradient; without it, any common factor below 1 passes as a clip.
        expect: the form that the loop is meant to follow: "token mean", "per-sequence mean", "mean of micro-batch
            means", "micro-batch means weighted by their rows" or "sum over tokens, never divided".
        read_point: the module whose output feeds the head, or its name.
        head: from hidden states to logits: a module, its name, or a function.

    Raises:
        ValueError, LookupError: at once, when the model cannot be watched (frozen, compiled, no read point found); when
            the block ends, when nothing could be measured in it.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Any = None,
        *,
        max_norm: float | None = None,
        expect: str = "token mean",
        read_point: nn.Module | str | None = None,
        head: Any = None,
    ) -> None:
        self._recorder: label_record.LabelRecorder | live_record.LiveRecorder
        # Before its configuration is asked for: that of DeepSpeed's engine is its own.
        if isinstance(model, nn.Module):
            refusals.refuse_taken_over(model, list(model.parameters()))
        if read_point is None and head is None and label_record.scores_labels_in_place(model):
            self._recorder = label_record.LabelRecorder(model)
        else:
            self._recorder = live_record.LiveRecorder(locate.locate(model, read_point, head))
        if expect not in objectives():
            raise ValueError(f"expect={expect!r} is no known form: give one of {', '.join(objectives())}")
        self._recorder.record.expect = expect
        if optimizer is not None:
            given = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
            refuse_unfit(model, given, max_norm)
            found = getattr(self._recorder, "head", None)
            self._recorder.capture.after = after.AfterBackward(
                self._recorder.record, model, given, step_verdict.compared, max_norm, found
            )
        elif max_norm is not None:
            raise ValueError(
                f"max_norm={max_norm} was given without optimizer=: a clip is seen at the optimizer's step"
            )

    def __enter__(self) -> Report:
        self._recorder.capture.__enter__()
        return Report(self._recorder.record)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._recorder.capture.__exit__(kind, error, tb)


def refuse_unfit(model: nn.Module, optimizers: list[Any], max_norm: Any) -> None:
    """Raise for optimizers that hold nothing of a model, and for a limit of a clip that is none."""
    if max_norm is not None and not (isinstance(max_norm, (int, float, np.number)) and max_norm > 0):
        raise ValueError(f"max_norm={max_norm!r}: give the limit of the clip as a number above 0")
    held = {id(p) for one in optimizers for group in after.unwrapped(one).param_groups for p in group["params"]}
    if not any(id(p) in held for p in model.parameters()):
        raise ValueError(f"optimizer= holds no parameter of {type(model).__name__}: give the one that trains it")


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

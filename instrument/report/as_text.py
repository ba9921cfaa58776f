"""A record as a table for a terminal or a failing assertion."""

import io
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from ..leak_record import LeakRun
from ..objective_record import NotRun, ObjectiveRun
from ..record import Record, Row, Window
from ..verdict import Verdict

if TYPE_CHECKING:
    from ..checks import Outcome


def table(record: Record, verdicts: Sequence[Verdict]) -> str:
    """The verdict first, then one line per row of each window."""
    out = io.StringIO()
    console = Console(file=out, width=120, color_system=None, highlight=False)
    for number, (window, verdict) in enumerate(zip(record.windows, verdicts)):
        title = f"window {number}: " if len(record.windows) > 1 else ""
        console.print(title + headline(verdict), markup=False, soft_wrap=True)
        for remark in (*verdict.faults[1:], *verdict.remarks):
            console.print(f"  {remark}", markup=False, soft_wrap=True)
        for line in verdict.stages:
            console.print(f"  {line}", markup=False, soft_wrap=True)
        if verdict.stages and verdict.stage:
            console.print(f"  first wrong at: {verdict.stage}", markup=False, soft_wrap=True)
        console.print(rows_of(window))
        console.print(
            f"{window.targets()} targets in {len(window.rows)} rows and {window.micro_batches} micro-batches"
            f"{f' on each of {window.ranks} ranks' if window.ranks > 1 else ''}; "
            f"{window.reached} of {window.trainable} trainable parameters reached; "
            f"loss {window.objective():.6g}; read at {record.where} ({record.instrument})",
            markup=False,
            soft_wrap=True,
        )
    for name, value in record.changes.items():
        console.print(f"changed from the default: {name} = {value}", markup=False, soft_wrap=True)
    for note in record.notes:
        console.print(note, markup=False, soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def headline(verdict: Verdict) -> str:
    """The verdict in one line."""
    if verdict.ok:
        also = f" (on these rows the same as: {', '.join(verdict.same)})" if verdict.same else ""
        how = "every target weighs the same" if verdict.name == "token mean" else "targets weigh as expected"
        return f"OK: {how}, {verdict.name}, w = {verdict.equation}{also}"
    return f"FAULT: {verdict.faults[0]}"


def rows_of(window: Window) -> Table:
    """Weights times N of each row: 1 under a token mean."""
    several = window.ranks > 1
    grid = Table("row", *["rank"] * several, "micro-batch", "targets", "w*N", "cosine", box=None, pad_edge=False)
    n = window.targets()
    for number, row in enumerate(window.rows):
        place = [str(number), *[str(row.rank)] * several, str(row.micro_batch)]
        grid.add_row(*place, str(int(row.intended.sum())), weights_of(row, n), cosine_of(row))
    for row in window.carried:
        grid.add_row("carried", *["-"] * several, "-", "0", weights_of(row, n), cosine_of(row))
    return grid


def weights_of(row: Row, n: int) -> str:
    """Each weight times N while they are few, their range when they are many.

    An unlabelled token is a dot, a target whose weight is not known a question mark.
    """
    marks = [
        "." if weight == 0 and not (scored or intended) else "?" if np.isnan(weight) else f"{weight * n:.4f}"
        for weight, scored, intended in zip(row.weight, row.scored, row.intended)
    ]
    if len(marks) <= 10:
        return " ".join(marks)
    scaled = row.weight[row.scored | row.intended] * n
    if not scaled.size:
        return f"{len(marks)} unlabelled"
    if np.isnan(scaled).all():
        return f"{scaled.size} that cannot be read"
    return f"{np.nanmin(scaled):.4f} to {np.nanmax(scaled):.4f}, median {np.nanmedian(scaled):.4f}"


def cosine_of(row: Row) -> str:
    """Smallest cosine of the row's targets."""
    seen = row.cosine[row.scored & ~np.isnan(row.cosine)]
    return f"{seen.min():.6f}" if seen.size else "-"


def closing(outcomes: "Sequence[Outcome]") -> list[str]:
    """What a reader of the checks should know: versions, changed defaults, how many held."""
    counts = Counter(o.status for o in outcomes)
    stack = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "accelerate"))
    return [
        f"measured on {stack}; 'off by' is the largest |w - expected| in units of a token-mean weight 1/N, "
        "of a leak the largest gradient at a foreign token over the largest at an own one, and of a loss of TRL the "
        "largest |w - expected| over the largest weight",
        *changes_by_loop(outcomes),
        f"{counts['ok']} ok, {counts['known']} known deviations, {counts['FAULT']} faults"
        + (f", {counts['not run']} not run" if counts["not run"] else ""),
    ]


def changes_of(outcome: "Outcome") -> dict[str, str]:
    """What a check set differently from the library's defaults."""
    report = outcome.report
    return report.changes if isinstance(report, (LeakRun, ObjectiveRun, NotRun)) else report.record.changes


def changes_by_loop(outcomes: "Sequence[Outcome]") -> list[str]:
    """One line per loop: what all of its checks set differently from the library's defaults."""
    lines = []
    for group in dict.fromkeys(o.group for o in outcomes):
        ran = [o for o in outcomes if o.group == group and not isinstance(o.report, NotRun)]
        first, *others = [changes_of(o) for o in ran] or [{}]
        common = {name: value for name, value in first.items() if all(o.get(name) == value for o in others)}
        varying = sorted({name for changes in (first, *others) for name in changes} - common.keys())
        text = "; ".join([f"{name}: {value}" for name, value in common.items()] + [f"{v}: as named" for v in varying])
        lines.append(f"changed from the defaults in the {group} loop: {text}")
    return lines

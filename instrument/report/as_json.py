"""A record as plain JSON values."""

import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..leak_record import LeakRun
from ..objective_record import NotRun, ObjectiveRun
from ..record import Record, Row, Window, installed
from ..verdict import Verdict

if TYPE_CHECKING:
    from ..checks import Outcome
    from .report import Report


def report(record: Record, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Everything that was measured and concluded; nan and inf become null, which JSON can hold."""
    return {
        "instrument": record.instrument,
        "where": record.where,
        "vocabulary": record.vocabulary,
        "work_dtype": record.work_dtype,
        "loss_dtype": record.loss_dtype,
        "versions": record.versions,
        "ranks": record.ranks,
        "changes": record.changes,
        "logged": [finite(x) for x in record.logged],
        "notes": record.notes,
        "windows": [window(w, v) for w, v in zip(record.windows, verdicts)],
    }


def outcomes(found: "Sequence[Outcome]") -> dict[str, Any]:
    """The checks of `weighbridge report`, each with the report behind it."""
    return {
        "versions": installed(),
        "checks": [
            {
                "name": o.name,
                "group": o.group,
                "expected": o.expected,
                "measured": o.measured,
                "status": o.status,
                "deviation": finite(o.deviation),
                "seconds": round(o.seconds, 3),
                "report": behind(o.report),
            }
            for o in found
        ],
    }


def behind(found: "Report | LeakRun | ObjectiveRun | NotRun") -> dict[str, Any]:
    """Everything behind a check."""
    if isinstance(found, LeakRun):
        return leaks(found)
    if isinstance(found, ObjectiveRun):
        return objective(found)
    return {"reason": found.reason} if isinstance(found, NotRun) else report(found.record, found.verdicts)


def objective(run: ObjectiveRun) -> dict[str, Any]:
    """A loss of TRL, token by token; nan becomes null."""
    return {
        "instrument": "objective",
        "changes": run.changes,
        "windows": [
            [
                {
                    "numbers": batch.numbers.tolist(),
                    **{
                        name: [[finite(x) for x in row] for row in getattr(batch, name).tolist()]
                        for name in ("measured", "expected", "allowed")
                    },
                }
                for batch in window
            ]
            for window in run.windows
        ],
    }


def leaks(run: LeakRun) -> dict[str, Any]:
    """A search for leaks."""
    found = run.leaks
    return {
        "instrument": "leak",
        "changes": run.changes,
        "own": found.own,
        "passes": found.passes,
        "more_passes": found.more_passes,
        "sequences": [asdict(span) for span in found.sequences],
        "pairs": [asdict(pair) for pair in found.pairs],
        "ahead": [asdict(ahead) for ahead in found.ahead],
    }


def window(measured: Window, verdict: Verdict) -> dict[str, Any]:
    """One window with its verdict."""
    return {
        "verdict": {
            "ok": verdict.ok,
            "name": verdict.name,
            "equation": verdict.equation,
            "nearest": verdict.nearest.candidate.name,
            "deviation": finite(verdict.nearest.deviation),
            "same": list(verdict.same),
            "faults": list(verdict.faults),
            "remarks": list(verdict.remarks),
            "stage": verdict.stage,
            "stages": list(verdict.stages),
        },
        "ranks": measured.ranks,
        "synchronised": measured.synchronised,
        "micro_batches": measured.micro_batches,
        "forwards": measured.forwards,
        "stepped": measured.stepped,
        "reached": measured.reached,
        "trainable": measured.trainable,
        "targets": measured.targets(),
        "objective": finite(measured.objective()),
        "padding": finite(measured.padding),
        "rows": [row(r) for r in measured.rows],
        "carried": [row(r) for r in measured.carried],
        "after": None if measured.after is None else plain(asdict(measured.after)),
    }


def plain(value: Any) -> Any:
    """Nested values, every array as a list."""
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else finite(value)


def row(measured: Row) -> dict[str, Any]:
    """One row, every array as a list."""
    values = ((field.name, getattr(measured, field.name)) for field in fields(measured))
    return {name: [finite(x) for x in v.tolist()] if isinstance(v, np.ndarray) else v for name, v in values}


def finite(value: Any) -> Any:
    """The value, or None for nan and inf."""
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""A run as JSON; `docs/schema.json` says what each field means."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ..elsewhere import not_the_next
from ..ledger import Entry, ledger
from ..record import Row, Window, installed
from ..report.as_json import finite
from .outcome import Outcome
from .tokens import text_of

if TYPE_CHECKING:
    from ..leak_record import Leaks

FORMAT, VERSION = "weighbridge-run", 1


def text(outcome: Outcome) -> str:
    """The document as text."""
    return json.dumps(document(outcome), indent=1, allow_nan=False) + "\n"


def document(outcome: Outcome) -> dict[str, Any]:
    """The document."""
    record = outcome.record
    worst = outcome.findings[0] if outcome.findings else None
    return {
        "format": FORMAT,
        "version": VERSION,
        "verdict": outcome.verdict(),
        "code": worst.code if worst is not None and worst.level == "fault" else None,
        "said": outcome.line(),
        "findings": [
            {
                "code": finding.code,
                "level": finding.level,
                "said": finding.said,
                "stage": finding.stage(),
                "windows": list(finding.windows),
            }
            for finding in outcome.findings
        ],
        "stages": list(outcome.stages),
        "script": outcome.script,
        "status": outcome.status,
        "model": outcome.model or None,
        "options": {name: plain(value) for name, value in outcome.options.items()},
        "changes": {
            name: {"value": plain(change.value), "default": plain(change.default)}
            for name, change in outcome.changes.items()
        },
        "certificate": None
        if outcome.certificate is None
        else {
            "calls": outcome.certificate.calls,
            "seconds": outcome.certificate.seconds,
            "checks": [{"what": check.what, "held": check.held} for check in outcome.certificate.checks],
        },
        "leaks": None if outcome.leaks is None else leaks_of(outcome.leaks),
        "leaks_not_searched": outcome.unsearched or None,
        "ledger": [{**entry._asdict(), "divisor": finite(entry.divisor)} for entry in runs_of_samples(outcome)],
        "notes": outcome.notes,
        "versions": installed() if record is None else record.versions,
        "read_at": None if record is None else record.where,
        "dtype": None if record is None else record.work_dtype,
        "ranks": 1 if record is None else record.ranks,
        "ids_are": "tokens" if record is None or record.tokens else "classes",
        "windows": [] if record is None else [window_of(window, outcome) for window in record.windows],
    }


def runs_of_samples(outcome: Outcome) -> list[Entry]:
    """The ledger; empty where one rank of several has measured its own rows only."""
    record = outcome.record
    return [] if record is None or record.rank >= 0 else ledger(record)


def leaks_of(leaks: "Leaks") -> dict[str, Any]:
    """What a search for leaks found; a pair that is not named has a gradient of exactly 0."""
    return {
        "sequences": [{"row": span.row, "start": span.start, "stop": span.stop} for span in leaks.sequences],
        "pairs": [
            {"target": p.target, "source": p.source, "token": p.position, "gradient": finite(p.gradient)}
            for p in leaks.pairs
        ],
        "ahead": [
            {"sequence": a.sequence, "target": a.target, "token": a.position, "gradient": finite(a.gradient)}
            for a in leaks.ahead
        ],
        "own": finite(leaks.own),
        "passes": leaks.passes + leaks.more_passes,
    }


def window_of(window: Window, outcome: Outcome) -> dict[str, Any]:
    """One optimizer step."""
    return {
        "targets": window.targets(),
        "micro_batches": window.micro_batches,
        "forwards": window.forwards,
        "reached": window.reached,
        "trainable": window.trainable,
        "objective": finite(window.objective()),
        "padding": finite(window.padding),
        "rows": [row_of(row, outcome) for row in window.rows],
    }


def row_of(row: Row, outcome: Outcome) -> dict[str, Any]:
    """One row; weights are absolute, of the target behind each token."""
    tokenizer = outcome.tokenizer
    return {
        "rank": row.rank,
        "micro_batch": row.micro_batch,
        "ids": row.ids.tolist(),
        "text": None if tokenizer is None else text_of(row.ids, tokenizer),
        "target": row.target.tolist(),
        "scored": row.scored.tolist(),
        "weight": numbers(row.weight),
        "remainder": numbers(row.remainder),
        "loss": numbers(row.loss),
        "not_the_next": not_the_next(row),
    }


def numbers(values: np.ndarray) -> list[float | None]:
    """A list in which null stands for what is not known."""
    return [finite(value) for value in values.tolist()]


def plain(value: Any) -> Any:
    """A value of an argument, or its text where JSON has no such value."""
    return value if isinstance(value, (bool, int, float, str, list, type(None))) else str(value)

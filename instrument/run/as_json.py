"""A run as JSON; `docs/schema.json` says what each field means."""

import json
from typing import Any

import numpy as np

from ..elsewhere import not_the_next
from ..record import Row, Window, installed
from ..report.as_json import finite
from .outcome import Outcome
from .tell import decodes
from .tokens import text_of

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
        "notes": outcome.notes,
        "versions": installed() if record is None else record.versions,
        "read_at": None if record is None else record.where,
        "dtype": None if record is None else record.work_dtype,
        "ranks": 1 if record is None else record.ranks,
        "windows": [] if record is None else [window_of(window, outcome) for window in record.windows],
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
    tokenizer = outcome.tokenizer if decodes(outcome) else None
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

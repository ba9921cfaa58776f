"""What a campaign leaves behind: every cell as it comes, and the verdicts."""

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mutation.case import Verdict
from mutation.cells import Cell, Ran


class Journal:
    """Writes `cells.jsonl` line by line, and `summary.json` at the end, into one folder.

    Attributes:
        killers: by fault, the tests that noticed it in the campaign that the folder held before.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.killers: dict[str, list[str]] = {}
        with suppress(FileNotFoundError):
            before = json.loads((folder / "summary.json").read_text())
            self.killers = {name: verdict["killers"] for name, verdict in before["faults"].items()}
        self.cells = (folder / "cells.jsonl").open("w")

    def cell(self, ran: Ran, test: str, cell: Cell) -> None:
        """Append one cell, on the disk before the next one is looked at."""
        row = {"fault": ran.job.name, "part": ran.job.part, "test": test, **asdict(cell)}
        self.cells.write(json.dumps(row) + "\n")
        self.cells.flush()

    def summary(
        self, verdicts: Iterable[Verdict], first_kill: bool, seconds: Mapping[str, float], tests: Sequence[str]
    ) -> None:
        """Write the verdicts, sorted by name, with the time of each stage and the versions that they hold for."""
        ordered = sorted(verdicts, key=lambda verdict: verdict.name)
        written = {
            "mode": "first" if first_kill else "matrix",
            "faults": {verdict.name: as_plain(verdict) for verdict in ordered},
            "counts": dict(Counter(str(verdict.status) for verdict in ordered)),
            "tests": list(tests),
            "seconds": {stage: round(spent, 2) for stage, spent in seconds.items()},
            "versions": versions(),
        }
        half = self.folder / "summary.json.part"
        half.write_text(json.dumps(written, indent=1) + "\n")
        half.rename(self.folder / "summary.json")


def as_plain(verdict: Verdict) -> dict[str, object]:
    """A verdict as what JSON can hold; its cells stand in the other file."""
    return {
        "status": verdict.status,
        "effect": verdict.effect,
        "accepted": verdict.accepted(),
        "killers": verdict.killers,
        "unconfirmed": verdict.unconfirmed,
        "kinds": dict(Counter(cell.kind for cell in verdict.cells.values())),
        "hits": verdict.hits,
        "seam": verdict.fault.seam,
        "source": verdict.fault.source,
        "note": verdict.note,
    }


def versions() -> dict[str, str]:
    """Version of Python, and of what the verdicts depend on."""
    found = {"python": platform.python_version()}
    for name in ("accelerate", "hypothesis", "numpy", "pytest", "torch", "transformers", "trl"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found

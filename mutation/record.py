"""What a campaign has left in its folder, read back and checked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation.cells import Cell
from mutation.status import Effect, Status, kills


@dataclass(frozen=True)
class Tried:
    """A fault that was on trial.

    Attributes:
        accepted: killed and measured, or equivalent as declared; expectations are not looked at.
        killers: tests that noticed it twice.
        unconfirmed: tests that noticed it once only.
        hits: calls of the seam under the fault.
        cells: by test; kills that the verdict does not know are of an earlier run, and left out.
    """

    seam: str
    source: str
    status: Status
    effect: Effect
    accepted: bool
    killers: tuple[str, ...]
    unconfirmed: tuple[str, ...]
    hits: int
    note: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Record:
    """A campaign.

    Attributes:
        whole_rows: every test that enters a seam ran under its faults, instead of stopping at the first kill.
        faults: by name.
        tests: node ids of the tests that had to notice.
        without: cell of each test without any fault.
        seconds: of each stage.
        elsewhere: by source mutant, the tests that kill it; empty when no such campaign is known.
    """

    whole_rows: bool
    faults: Mapping[str, Tried]
    tests: tuple[str, ...]
    without: Mapping[str, Cell]
    seconds: Mapping[str, float]
    versions: Mapping[str, str]
    elsewhere: Mapping[str, tuple[str, ...]]


def read_record(folder: Path) -> Record:
    """Read `summary.json`, `cells.jsonl` and, where there is one, `source.json`.

    `source.json` is what `python -m mutation source` writes; a campaign over the source counts for its tests, too.

    Raises:
        ValueError: a file is missing, torn, or not what a campaign writes.
    """
    path = folder / "summary.json"
    summary = parsed(path, text(path))
    cells = read_cells(folder / "cells.jsonl")
    beside = folder / "source.json"
    source = parsed(beside, text(beside)) if beside.exists() else {"mutants": {}}
    try:
        modes = {"first": False, "matrix": True}
        return Record(
            whole_rows=modes[summary["mode"]],
            faults={name: tried(told, cells.get((name, "first"), {})) for name, told in summary["faults"].items()},
            tests=tuple(summary["tests"]),
            without=cells.get(("baseline", "quick"), {}) | cells.get(("baseline", "full"), {}),
            seconds=summary["seconds"],
            versions=summary["versions"],
            elsewhere={name: tuple(kills(mutant["kills"])) for name, mutant in source["mutants"].items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{folder} holds something else than the files of this version's campaigns ({error!r}): run `planted` again"
        ) from error


def tried(told: Mapping[str, Any], cells: Mapping[str, Cell]) -> Tried:
    """Put one verdict of the summary together with its cells."""
    noticed = (*told["killers"], *told["unconfirmed"])
    outdated = set(kills({test: cell.kind for test, cell in cells.items()})) - set(noticed)
    return Tried(
        seam=told["seam"],
        source=told["source"],
        status=Status(told["status"]),
        effect=Effect(told["effect"]),
        accepted=bool(told["accepted"]),
        killers=tuple(told["killers"]),
        unconfirmed=tuple(told["unconfirmed"]),
        hits=int(told["hits"]),
        note=told["note"],
        cells={test: cell for test, cell in cells.items() if test not in outdated},
    )


def read_cells(path: Path) -> dict[tuple[str, str], dict[str, Cell]]:
    """Read the last cell of each test, by fault and part of its trial; fields that are not known here do no harm."""
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    whole = text(path)
    for number, line in enumerate(whole.removesuffix("\n").split("\n") if whole else [], start=1):
        row = parsed(path, line, f", line {number}")
        try:
            cell = Cell(row["kind"], row["message"], float(row["seconds"]), row["hits"])
            cells.setdefault((row["fault"], row["part"]), {})[row["test"]] = cell
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number} is not a cell ({error!r}): run `planted` again") from error
    return cells


def text(path: Path) -> str:
    """The text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read ({error}): give the --out folder of a finished campaign") from error


def parsed(path: Path, line: str, where: str = "") -> dict[str, Any]:
    """The object that a text holds."""
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}{where} is torn or not JSON ({error}): finish the campaign first") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}{where} holds {type(found).__name__} where an object was written: run `planted` again")
    return found

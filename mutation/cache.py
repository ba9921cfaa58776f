"""Which cells of earlier campaigns still hold: the rules, without any input or output."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mutation.cells import Cell

Row = Mapping[str, Any]
Id = tuple[str, str, str]


@dataclass(frozen=True)
class Run:
    """One campaign of a journal.

    Attributes:
        plan: what it was asked to do.
        rows: cells that it ran.
        end: "complete", "void", or empty when it was interrupted.
        modules: what its children imported; known when it is complete.
    """

    plan: Mapping[str, Any]
    rows: Sequence[Row]
    end: str = ""
    modules: Sequence[str] = ()


def remembered(runs: Iterable[Run]) -> dict[str, dict[str, Row]]:
    """Collect what still holds of earlier campaigns: by key and part, the last row.

    Only a campaign that ended with a green suite may add. Any other only takes away what it contradicts.
    """
    held: dict[str, dict[str, Row]] = {}
    for run in runs:
        for row in run.rows:
            key, part = row["key"], row["part"]
            before = held.get(key, {}).get(part)
            if run.end != "complete":
                if before is not None and before["kind"] != row["kind"]:
                    del held[key]
            elif part == "second":
                held.setdefault(key, {})[part] = row
            elif before is None or not set(row["counted"]) < set(before["counted"]):
                held[key] = {part: row}
    return {key: parts for key, parts in held.items() if reusable(parts)}


def reusable(parts: Mapping[str, Row]) -> bool:
    """Whether the cells of one key need not run again: quiet ones, and kills that came twice."""
    noticed, quiet = ("assert", "refusal"), ("pass", "skipped")
    kinds = {part: row["kind"] for part, row in parts.items()}
    if kinds.get("first") in noticed:
        return kinds.get("second") in noticed
    return any(kinds.get(part) in quiet for part in ("first", "effect", "full", "quick"))


def sample(cells: Iterable[Id], share: float, seed: int) -> set[Id]:
    """Draw a share of cells, at least one of any; the same for the same seed."""
    ordered = sorted(cells)
    return set(random.Random(seed).sample(ordered, min(len(ordered), math.ceil(share * len(ordered)))))


def disagreement(said: Cell, now: Cell, seams: Iterable[str]) -> str:
    """Say how a cell that ran again differs from what was remembered; empty when it does not.

    Args:
        seams: those whose entry must be the same; durations and counts may differ.
    """
    if said.kind != now.kind:
        return f"said {said.kind!r}, and now it is {now.kind!r} ({now.message or 'without a message'})"
    moved = [seam for seam in seams if (seam in said.hits) != (seam in now.hits)]
    return f"and what runs now differ on whether it enters {moved[0]}" if moved else ""


def as_cell(row: Row) -> Cell:
    """The cell of a row."""
    return Cell(row["kind"], row["message"], row["seconds"], row["hits"], row["properties"])

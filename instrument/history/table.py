"""The columns of all releases side by side: rows = checks, and the life of each deviation in words."""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

Cell = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """What one release showed.

    Attributes:
        release: its number.
        versions: of what stood in its environment.
        cells: what each check found, by its name; empty where the release did not run.
        reason: why it did not, or nothing.
    """

    release: str
    versions: dict[str, str]
    cells: dict[str, Cell]
    reason: str = ""


def checks_of(columns: list[Column]) -> list[str]:
    """Names of all checks, in their order."""
    return list(dict.fromkeys(name for column in columns for name in column.cells))


def status(column: Column, check: str) -> str:
    """One word for the table; "-" where the release, or this check of it, is missing."""
    return str(column.cells[check]["status"]) if check in column.cells else "-"


def life(columns: list[Column], check: str) -> str:
    """From which release to which a check found what; releases without the check are passed over.

    A stretch ends where the status changes, or what a fault is called (what stands before its numbers).
    """
    met = [column for column in columns if check in column.cells]
    stretches = []
    for (said, kind), members in groupby(met, key=lambda column: found(column.cells[check])):
        releases = [column.release for column in members]
        span = releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
        stretches.append(f"{span}: {said}" + (f" ({kind})" if kind else ""))
    return "; ".join(stretches)


def found(cell: Cell) -> tuple[str, str]:
    """The status, and what a deviation is called."""
    name = cell["measured"].split(", M = ")[0].split(": targets weigh")[0].removeprefix("token weights follow the ")
    return cell["status"], "" if cell["status"] == "ok" else name


def as_text(columns: list[Column]) -> list[str]:
    """The table, then the life of every check, then what stood in each environment."""
    names = checks_of(columns)
    ran = [column for column in columns if not column.reason]
    width = max([5, *map(len, names)])
    widths = [max(7, len(column.release)) for column in ran]
    lines = ["  ".join(["check".ljust(width), *(c.release.ljust(w) for c, w in zip(ran, widths))]).rstrip()]
    for name in names:
        cells = [status(column, name).ljust(w) for column, w in zip(ran, widths)]
        lines.append("  ".join([name.ljust(width), *cells]).rstrip())
    lines += ["", *(f"{name}: {life(ran, name)}" for name in names)]
    lines += ["", *(f"{column.release}: {beside(column)}" for column in columns)]
    return lines


def beside(column: Column) -> str:
    """What stood in the environment, or why there is no column."""
    return column.reason or ", ".join(f"{name} {version}" for name, version in column.versions.items())

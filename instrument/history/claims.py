"""What public reports say of releases, held against the columns."""

import tomllib
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from .table import Column, status

CONFIRMED, CORRECTED, DATED, SILENT = "confirmed", "corrected", "now dated", "not shown by these columns"
Release = tuple[int, ...]


@dataclass(frozen=True)
class Claim:
    """What a report says.

    Attributes:
        library: of which releases.
        what: goes wrong, in words.
        source: its address.
        check: which shows it.
        shows: words of which one stands in the check's finding then; any fault counts where there are none.
        since: the first release that the report names as wrong, or nothing.
        gone: the first that it names as right, or nothing.
        still: one that it names as wrong yet, or nothing.
        said: what it says where it names no release.
    """

    library: str
    what: str
    source: str
    check: str
    shows: tuple[str, ...] = ()
    since: str = ""
    gone: str = ""
    still: str = ""
    said: str = ""


def read() -> dict[str, Any]:
    """The file that lists the claims."""
    return tomllib.loads((Path(__file__).parent / "claims.toml").read_text())


def claims(library: str) -> list[Claim]:
    """All that is held against the releases of a library."""
    found = [Claim(**{**each, "shows": tuple(each.get("shows", ()))}) for each in read()["claim"]]
    return [claim for claim in found if claim.library == library]


def apart(library: str) -> dict[str, str]:
    """Why the columns of some releases are left out of the comparison, by release."""
    return {each["release"]: each["why"] for each in read()["apart"] if each["library"] == library}


def number(release: str) -> Release:
    """A release as numbers that can be compared."""
    return tuple(int(part) for part in release.split("."))


def shown(claim: Claim, column: Column) -> bool:
    """Whether the column's check finds what the report says."""
    cell = column.cells[claim.check]
    wrong = cell["status"] in ("FAULT", "known")
    return wrong and (not claim.shows or any(words in cell["measured"] for words in claim.shows))


def held(claim: Claim, columns: list[Column]) -> tuple[str, str]:
    """Where the columns show it, in words, and what that makes of the report.

    "confirmed": in the releases that it names and in no others; "corrected": in others; "now dated": it names none.
    """
    left_out = apart(claim.library)
    met = [c for c in columns if status(c, claim.check) not in ("-", "not run") and c.release not in left_out]
    if not met:
        return "no column asks it", SILENT
    over = f"{met[0].release} to {met[-1].release}"
    seen = [column.release for column in met if shown(claim, column)]
    if not seen:
        where = f"in none of {over}"
    else:
        parts = [[c.release for c in some] for wrong, some in groupby(met, lambda c: c.release in seen) if wrong]
        spans = [some[0] if len(some) == 1 else f"{some[0]} to {some[-1]}" for some in parts]
        where = f"in {', '.join(spans)}, of {over}"
    if claim.still:
        return where, CONFIRMED if claim.still in seen else CORRECTED
    if not seen:
        return where, SILENT
    if not claim.since and not claim.gone:
        return where, DATED
    first, last = number(claim.since or "0"), number(claim.gone or "999")
    due = [column.release for column in met if first <= number(column.release) < last]
    # Where no end is named, the first due release alone must show it.
    missing = [release for release in (due if claim.gone else due[:1]) if release not in seen]
    outside = [release for release in seen if not first <= number(release) < last]
    return where, CORRECTED if missing or outside else CONFIRMED


def words(claim: Claim) -> str:
    """What the report says of releases."""
    since, gone = claim.since and f"since {claim.since}", claim.gone and f"gone in {claim.gone}"
    still = claim.still and f"still in {claim.still}"
    return ", ".join(part for part in (since, gone, still, claim.said) if part)


def as_lines(library: str, columns: list[Column]) -> list[str]:
    """A line for each report."""
    return [
        *(f"{release} is left out: it {why}" for release, why in apart(library).items()),
        *(
            f"{claim.what} ({claim.source}): said: {words(claim)}; {': '.join(reversed(held(claim, columns)))}"
            for claim in claims(library)
        ),
    ]


def as_table(library: str, columns: list[Column]) -> list[str]:
    """The same as rows of a Markdown table."""
    rows = []
    for claim in claims(library):
        where, made = held(claim, columns)
        link = f"[{claim.source.rpartition('/')[2]}]({claim.source})"
        rows.append(f"| {claim.what} | {link} | {words(claim)} | {claim.check} | {where} | {made} |")
    return rows

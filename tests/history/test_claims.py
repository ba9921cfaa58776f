"""What reports say of releases, held against columns."""

import re
from pathlib import Path

import pytest

from instrument import checks
from instrument.history import claims, environments
from instrument.history.claims import Claim, held
from instrument.history.reported import reported_checks
from instrument.history.table import Column


def columns(**found):
    """Columns of releases v1, v2, ... with this status of one check."""
    cells = {release[1:]: status for release, status in found.items()}
    return [Column(f"{r}.0", {}, {"asked": {"status": s, "measured": f"{s}: twice"}}) for r, s in cells.items()]


@pytest.mark.parametrize(
    ("said", "found", "where", "made"),
    [
        ({"gone": "3"}, {"v1": "FAULT", "v2": "FAULT", "v3": "ok"}, "in 1.0 to 2.0, of 1.0 to 3.0", "confirmed"),
        ({"gone": "2"}, {"v1": "FAULT", "v2": "FAULT", "v3": "ok"}, "in 1.0 to 2.0, of 1.0 to 3.0", "corrected"),
        ({"gone": "3"}, {"v1": "ok", "v2": "FAULT", "v3": "ok"}, "in 2.0, of 1.0 to 3.0", "corrected"),
        ({"since": "2"}, {"v1": "ok", "v2": "FAULT", "v3": "ok"}, "in 2.0, of 1.0 to 3.0", "confirmed"),
        ({"since": "2"}, {"v1": "FAULT", "v2": "FAULT", "v3": "ok"}, "in 1.0 to 2.0, of 1.0 to 3.0", "corrected"),
        ({"since": "2"}, {"v1": "ok", "v2": "ok", "v3": "FAULT"}, "in 3.0, of 1.0 to 3.0", "corrected"),
        ({"still": "3.0"}, {"v1": "ok", "v2": "ok", "v3": "known"}, "in 3.0, of 1.0 to 3.0", "confirmed"),
        ({"still": "3.0"}, {"v1": "FAULT", "v2": "FAULT", "v3": "ok"}, "in 1.0 to 2.0, of 1.0 to 3.0", "corrected"),
        ({}, {"v1": "FAULT", "v2": "ok", "v3": "FAULT"}, "in 1.0, 3.0, of 1.0 to 3.0", "now dated"),
        ({"gone": "2"}, {"v1": "ok", "v2": "ok"}, "in none of 1.0 to 2.0", "not shown by these columns"),
        ({"gone": "3"}, {"v1": "not run", "v2": "FAULT", "v3": "ok"}, "in 2.0, of 2.0 to 3.0", "confirmed"),
        ({"gone": "3"}, {"v1": "not run"}, "no column asks it", "not shown by these columns"),
        ({"gone": "2", "shows": ("thrice",)}, {"v1": "FAULT"}, "in none of 1.0 to 1.0", "not shown by these columns"),
    ],
)
def test_a_report_is_confirmed_where_the_columns_show_it_in_the_releases_that_it_names(said, found, where, made):
    claim = Claim("made", "up", "https://example.org/1", "asked", **said)

    assert held(claim, columns(**found)) == (where, made)


def test_releases_are_compared_as_numbers():
    assert claims.number("4.9.1") < claims.number("4.46") < claims.number("4.46.0") < claims.number("5")


@pytest.mark.parametrize("library", ["transformers", "trl", "peft"])
def test_every_report_has_a_source_and_a_check_that_its_library_is_asked(library):
    names = {check.name for check in [*checks.all_checks(), *reported_checks()]}
    known = claims.claims(library)

    assert known
    assert all(claim.check in names and claim.source.startswith("https://github.com/") for claim in known)
    assert all(claim.still in ("", *environments.pins(library)) for claim in known)


def test_the_documentation_holds_every_report_as_it_is_asked():
    text = (Path(__file__).parents[2] / "docs" / "history.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "](https://" in line]
    told = {(cells[0], cells[2], cells[3]) for cells in rows if len(cells) == 6}
    asked = [claim for library in ("transformers", "trl", "peft") for claim in claims.claims(library)]

    assert told == {(claim.what, claims.words(claim), claim.check) for claim in asked}
    assert all(re.search(rf"\({re.escape(claim.source)}\)", text) for claim in asked)


@pytest.mark.parametrize("library", ["transformers", "trl"])
def test_a_release_that_is_wrong_throughout_is_left_out_and_named(library):
    pinned = environments.pins(library)
    (release,) = claims.apart(library)
    claim = Claim(library, "up", "https://example.org/1", "asked", gone="3")
    found = [Column(r, {}, {"asked": {"status": "FAULT", "measured": "up"}}) for r in ("0.1", release)]

    assert release in pinned
    assert held(claim, found) == ("in 0.1, of 0.1 to 0.1", "confirmed")
    assert claims.as_lines(library, found)[0].startswith(f"{release} is left out: it ")

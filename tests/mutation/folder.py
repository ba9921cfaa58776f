"""Writes the files of a small campaign by hand, so that each test can say what was in them."""

import json

from mutation.expectations import Expectations
from mutation.export.folder import export

NOTHING = Expectations({}, {})
TESTS = ["a/test_x.py::test_kills[1-2]", "a/test_x.py::test_idle", "b/test_y.py::test_kills_too"]
UGLY = "call: AssertionError: \x1b[31m1 < 2\x1b[0m & \ud800 </script><script>alert('x')</script>\n  second line"
SECONDS = {"the suite without a fault, test by test": 2.0, "faults": 3.0}


def fault(seam="toy:wrong", status="killed", killers=(), unconfirmed=(), effect="matched", note=""):
    """What the summary says of a fault."""
    return {
        "status": status,
        "effect": effect,
        "accepted": status == "equivalent" or (status == "killed" and effect == "matched"),
        "killers": list(killers),
        "unconfirmed": list(unconfirmed),
        "kinds": {},
        "hits": 3,
        "seam": seam,
        "source": "https://example.org/1",
        "note": note,
    }


def cell(fault, test, kind="pass", part="first", message="", **more):
    """A line of the cells."""
    hits = {"toy:wrong": 1}
    return {
        "fault": fault,
        "part": part,
        "test": test,
        "kind": kind,
        "message": message,
        "seconds": 0.5,
        "hits": hits,
    } | more


def write(folder, faults, tests, cells=(), mode="matrix"):
    """Write both files."""
    folder.mkdir(exist_ok=True)
    summary = {"mode": mode, "faults": faults, "counts": {}, "tests": list(tests), "seconds": SECONDS}
    (folder / "summary.json").write_text(json.dumps(summary | {"versions": {"python": "3.11.0"}}))
    (folder / "cells.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cells))
    return folder


def mixed(folder):
    """A campaign with a fault of nearly every status."""
    faults = {
        "wrong": fault(killers=[TESTS[0], TESTS[2]]),
        "missed": fault("toy.deep:missed", status="survived", note="it was \x00 quiet"),
        "lost": fault("other:lost", status="crash only", effect="mismatched"),
        "once": fault(status="flaky", unconfirmed=[TESTS[0]]),
        "same": fault(status="equivalent"),
        "gone": fault(status="stale", effect="missing"),
    }
    cells = [
        *(cell("baseline", test, part="full") for test in TESTS),
        cell("wrong", TESTS[0], "assert", message=UGLY),
        cell("wrong", TESTS[1]),
        cell("wrong", TESTS[2], "refusal"),
        cell("missed", TESTS[0]),
        cell("missed", TESTS[1], "skipped"),
        cell("lost", TESTS[0], "crash", message="the process ended with 9"),
        cell("once", TESTS[0], "assert"),
    ]
    return write(folder, faults, TESTS, cells)


def exported(folder, expectations=NOTHING, catalogue=()):
    """Write all that a campaign is turned into; what matrix.json holds."""
    return export(folder, dict(catalogue), expectations)


def read(folder, name):
    """The object in a file."""
    return json.loads((folder / name).read_text())


def fault_of(document, name):
    """What matrix.json says of a fault."""
    return next(entry for entry in document["faults"] if entry["name"] == name)

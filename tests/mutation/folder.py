"""Writes the files of a small campaign by hand, so that each test can say what was in them."""

import json

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

"""A reach map that is wrong makes the campaign void when the audit meets it, and goes unseen without an audit."""

import json

import pytest

from tests.mutation.project import campaign, lay_out

pytestmark = pytest.mark.spawn

# Enters the seam only once faults are on trial, so the baseline takes it not to.
TURNS = """
def test_enters_the_seam_later():
    cells = open(__file__.replace("test_toy.py", "out/journal.jsonl")).read()
    if '"part": "first"' in cells and '"part": "again"' not in cells:
        toy.harmless(1)
"""


@pytest.fixture
def project(tmp_path):
    folder = lay_out(tmp_path)
    (folder / "test_collected.py").unlink()
    return folder


def test_a_test_that_enters_the_seam_after_all_makes_the_campaign_void(project):
    with (project / "test_toy.py").open("a") as suite:
        suite.write(TURNS)

    done = campaign(project, "first", "harmless", "--audit=1.0")

    assert done.returncode == 1
    assert "test_enters_the_seam_later was taken not to enter toy:harmless" in done.stderr
    assert "it called it 1 times" in done.stderr


def test_what_is_audited_is_counted_and_tells_no_verdict(project):
    done = campaign(project, "first", "harmless", "wrong", "--audit=1.0")

    assert done.returncode == 0, done.stderr
    told = json.loads((project / "out" / "summary.json").read_text())
    cells = [json.loads(line) for line in (project / "out" / "cells.jsonl").read_text().splitlines()]
    reached = [cell for cell in cells if cell["part"] == "full" and "toy:wrong" in cell["hits"]]
    reached += [cell for cell in cells if cell["part"] == "full" and "toy:harmless" in cell["hits"]]
    assert 2 * len(told["tests"]) - len(reached) == told["audited"]
    assert told["audited"] == len([cell for cell in cells if cell["part"] == "audit"])
    assert ["survived", "killed"] == [told["faults"][name]["status"] for name in ("harmless", "wrong")]

"""A campaign over faults whose verdict is known: each status, and nothing left behind."""

import json
from pathlib import Path

import pytest

from tests.mutation.project import campaign, lay_out

pytestmark = pytest.mark.spawn


@pytest.fixture(scope="module", params=["first", "matrix"])
def project(request, tmp_path_factory):
    """A project after its campaign."""
    folder = lay_out(tmp_path_factory.mktemp(request.param))
    done = campaign(folder, request.param)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def verdicts(project):
    return json.loads((project / "out" / "summary.json").read_text())["faults"]


@pytest.fixture
def cells(project):
    return [json.loads(line) for line in (project / "out" / "cells.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("wrong", "killed"),
        ("late", "killed"),
        ("denied", "killed"),
        ("unmeasured", "killed"),
        ("litters", "killed"),
        ("cached", "killed"),
        ("harmless", "survived"),
        ("measured_only", "survived"),
        ("excused", "equivalent"),
        ("unreached", "not reached"),
        ("raises", "error only"),
        ("segfaults", "crash only"),
        ("exits", "crash only"),
        ("interrupts", "crash only"),
        ("hangs", "timeout only"),
        ("once", "flaky"),
        ("moved", "stale"),
        ("outdated", "stale"),
        ("unplantable", "harness"),
        ("tabulated", "not reached"),
        ("vanishing", "survived"),
    ],
)
def test_each_sentinel_gets_its_status(verdicts, name, status):
    assert status == verdicts[name]["status"]


@pytest.mark.parametrize(
    ("name", "effect"), [("wrong", "matched"), ("denied", "mismatched"), ("unmeasured", "missing")]
)
def test_the_effect_is_judged_apart(verdicts, name, effect):
    assert effect == verdicts[name]["effect"]


def test_only_killed_and_matched_or_equivalent_is_accepted(verdicts):
    accepted = {name for name, verdict in verdicts.items() if verdict["accepted"]}

    assert {"wrong", "late", "litters", "cached", "excused"} == accepted


def test_a_kill_names_its_test(verdicts):
    assert ["test_toy.py::test_adds_one[wrong]"] == verdicts["wrong"]["killers"]


def test_only_the_matrix_runs_on_after_a_kill(project, cells):
    ran = {cell["test"] for cell in cells if cell["fault"] == "cached" and cell["part"] == "first"}

    assert (2 if "matrix" in project.name else 1) == len(ran)


def test_every_kill_is_run_again(cells):
    first = {(cell["fault"], cell["test"]) for cell in cells if cell["part"] == "first" and cell["kind"] == "assert"}
    second = {(cell["fault"], cell["test"]) for cell in cells if cell["part"] == "second"}

    assert first == second


def test_tests_behind_a_lost_process_still_run(cells):
    ran = [cell["test"] for cell in cells if cell["fault"] == "exits" and cell["part"] == "first"]

    assert [
        "test_toy.py::test_may_lose_its_process[1-exits]",
        "test_toy.py::test_may_lose_its_process[2-exits]",
    ] == sorted(ran)


def test_hanging_twice_is_enough(cells):
    ran = [cell["kind"] for cell in cells if cell["fault"] == "hangs" and cell["part"] == "first"]

    assert ["timeout", "timeout"] == ran


def test_what_a_test_recorded_is_kept(cells):
    recorded = [cell["properties"] for cell in cells if cell["fault"] == "wrong" and cell["part"] == "effect"]

    assert [{"measured": 3}] == recorded


def test_a_test_that_would_find_a_full_cache_reaches_the_seam(cells):
    entered = [cell["test"] for cell in cells if cell["fault"] == "baseline" and "toy:cached" in cell["hits"]]

    assert {"test_toy.py::test_shares_a_cache[1]", "test_toy.py::test_shares_a_cache[2]"} == {*entered}


def test_no_process_is_left(project):
    left = [int(line) for line in (project / "left").read_text().split()]

    assert left
    assert not [pid for pid in left if Path(f"/proc/{pid}").exists()]


def test_temporary_folders_are_gone(cells):
    made = [folder for cell in cells for folder in cell["properties"].get("folders", [])]

    assert made
    assert not [folder for folder in made if Path(folder).exists()]


def test_nothing_is_written_beside_the_output_folder(project):
    sentinels = {"seen", "left"}
    kept = {file.name for file in project.iterdir()} - {"__pycache__", ".hypothesis", "out"} - sentinels

    assert {
        "campaign.py",
        "conftest.py",
        "planted_faults.py",
        "pytest.ini",
        "test_collected.py",
        "test_effects.py",
        "test_toy.py",
        "toy.py",
        "toy_fault.py",
    } == kept
    assert {"cells.jsonl", "journal.jsonl", "parent.log", "summary.json"} == {
        file.name for file in (project / "out").iterdir()
    }


@pytest.mark.parametrize(
    ("addition", "reason"),
    [
        ("def test_is_red(): assert toy.wrong(1) == 3", "test_is_red"),
        ("import no_such_module", "could not be collected"),
        ("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()", "one thread"),
    ],
)
def test_a_campaign_that_proves_nothing_is_void(tmp_path, addition, reason):
    suite = lay_out(tmp_path) / "test_toy.py"
    suite.write_text(suite.read_text() + "\n\n" + addition + "\n")

    done = campaign(tmp_path, "first")

    assert done.returncode == 1
    assert "void" in done.stderr
    assert reason in done.stderr


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [("first", {"quick": "pass", "full": "assert"}), ("matrix", {"full": "pass", "again": "assert"})],
)
def test_a_suite_that_turns_red_makes_the_campaign_void(tmp_path, mode, kinds):
    project = lay_out(tmp_path)
    with (project / "test_toy.py").open("a") as suite:
        suite.write(
            """
def test_turns_red():
    cells = open(__file__.replace("test_toy.py", "out/journal.jsonl")).read()
    assert '"part": "first"' not in cells
"""
        )

    done = campaign(project, mode)

    cells = map(json.loads, (project / "out" / "journal.jsonl").read_text().splitlines())
    assert kinds == {cell["part"]: cell["kind"] for cell in cells if "test_turns_red" in cell.get("test", "")}
    assert "void" in done.stderr

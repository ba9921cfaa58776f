"""A campaign's folder is read whole, or refused in one sentence."""

import json

import pytest

from mutation.record import read_record
from mutation.status import Effect, Status
from tests.mutation.folder import cell, fault, write

KILLER = "t.py::test_a"


@pytest.fixture
def folder(tmp_path):
    faults = {"wrong": fault(killers=[KILLER], unconfirmed=["t.py::test_b"])}
    cells = [
        cell("baseline", KILLER, part="quick", seconds=0.1),
        cell("baseline", KILLER, part="full", seconds=0.2),
        cell("wrong", KILLER, kind="pass"),
        cell("wrong", KILLER, kind="assert", message="1 == 2", key="abc", run=7),
        cell("wrong", KILLER, kind="pass", part="second"),
        cell("wrong", "t.py::test_b", kind="refusal"),
        cell("wrong", "t.py::test_c", kind="assert", message="of an earlier run"),
        cell("wrong", "t.py::test_d", kind="error"),
        cell("other", KILLER),
    ]
    return write(tmp_path / "out", faults, [KILLER, "t.py::test_b", "t.py::test_c", "t.py::test_d"], cells)


def test_a_fault_has_its_verdict(folder):
    wrong = read_record(folder).faults["wrong"]

    assert (Status.KILLED, Effect.MATCHED, True, (KILLER,)) == (
        wrong.status,
        wrong.effect,
        wrong.accepted,
        wrong.killers,
    )


def test_the_last_cell_of_a_test_counts(folder):
    assert "1 == 2" == read_record(folder).faults["wrong"].cells[KILLER].message


def test_only_the_first_run_under_the_fault_counts(folder):
    assert "assert" == read_record(folder).faults["wrong"].cells[KILLER].kind


def test_a_kill_that_the_verdict_does_not_know_is_left_out(folder):
    assert [KILLER, "t.py::test_b", "t.py::test_d"] == list(read_record(folder).faults["wrong"].cells)


def test_the_full_baseline_goes_before_the_quick_one(folder):
    assert 0.2 == read_record(folder).without[KILLER].seconds


@pytest.mark.parametrize(("mode", "whole"), [("first", False), ("matrix", True)])
def test_the_mode_says_whether_rows_are_whole(folder, mode, whole):
    assert whole == read_record(write(folder, {}, [], [cell("baseline", KILLER)], mode)).whole_rows


def test_a_campaign_over_the_source_is_taken_in(folder):
    mutants = {
        "m.x_f__mutmut_1": {"kills": {KILLER: "assert", "t.py::test_b": "error"}},
        "m.x_f__mutmut_2": {"kills": {}},
    }
    (folder / "source.json").write_text(json.dumps({"mutants": mutants}))

    assert {"m.x_f__mutmut_1": (KILLER,), "m.x_f__mutmut_2": ()} == read_record(folder).elsewhere


def test_without_a_campaign_over_the_source_there_are_no_mutants(folder):
    assert {} == read_record(folder).elsewhere


def test_a_campaign_may_have_no_cells(folder):
    assert {} == read_record(write(folder, {}, [])).without


@pytest.mark.parametrize("name", ["summary.json", "cells.jsonl"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()

    with pytest.raises(ValueError, match=rf"{name} cannot be read .*--out folder"):
        read_record(folder)


def test_a_torn_last_line_is_named(folder):
    lines = (folder / "cells.jsonl").read_text()
    (folder / "cells.jsonl").write_text(lines[:-20])

    with pytest.raises(ValueError, match=r"cells.jsonl, line 9 is torn"):
        read_record(folder)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[]", "line 1 holds list"),
        ("{}", "line 1 is not a cell"),
        ('{"kind": 3}', "line 1 is not a cell"),
        ("", "torn"),
    ],
)
def test_a_line_that_is_no_cell_is_named(folder, line, told):
    (folder / "cells.jsonl").write_text(line + "\n")

    with pytest.raises(ValueError, match=told):
        read_record(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"mode": "all"},
        {"faults": []},
        {"faults": {"wrong": {}}},
        {"faults": {"wrong": fault(status="dead")}},
        {"faults": {"wrong": fault(effect="dead")}},
        {"tests": None},
    ],
)
def test_a_summary_of_another_kind_is_refused(folder, change):
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps(summary | change))

    with pytest.raises(ValueError, match="this version's campaigns"):
        read_record(folder)


def test_a_source_file_of_another_kind_is_refused(folder):
    (folder / "source.json").write_text('{"scores": 1}')

    with pytest.raises(ValueError, match="this version's campaigns"):
        read_record(folder)

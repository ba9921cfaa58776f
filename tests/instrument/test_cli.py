"""The command line: exit status, table, JSON file, and errors of one line."""

import json
import re
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from faults import CATALOGUE, planted
from instrument.cli import app


def run(*words):
    """Run the command in this process."""
    return CliRunner().invoke(app, list(words))


def test_a_report_of_a_sound_stack_ends_with_status_0():
    result = run("report", "--only", "accumulation 4x2")

    assert result.exit_code == 0
    assert "1 ok, 0 known deviations, 0 faults" in result.stdout


def test_a_known_deviation_is_no_failure():
    result = run("report", "--only", "hand-written")

    assert result.exit_code == 0
    assert "mean of micro-batch means, M = 4" in re.sub(r"\s+", " ", result.stdout)
    assert "0 ok, 1 known deviations, 0 faults" in result.stdout


def test_a_failing_check_ends_with_status_1():
    with planted(CATALOGUE["mean_of_micro_batch_means"]):
        result = run("report", "--only", "accumulation 4x2")

    assert result.exit_code == 1
    assert "0 ok, 0 known deviations, 1 faults" in result.stdout


def test_the_json_file_holds_every_weight(tmp_path):
    run("report", "--only", "accumulation 4x2", "--json", str(tmp_path / "report.json"))

    told = json.loads((tmp_path / "report.json").read_text())
    check = told["checks"][0]
    rows = check["report"]["windows"][0]["rows"]
    assert ["accumulation 4x2", "trainer", "ok"] == [check["name"], check["group"], check["status"]]
    assert told["versions"]["torch"] == version("torch")
    assert pytest.approx(48) == 48 / sum(sum(row["weight"]) for row in rows)
    assert check["report"]["changes"]["max_grad_norm"].startswith("0:")


def test_the_json_file_holds_every_leak(tmp_path):
    result = run("report", "--only", "default call", "--json", str(tmp_path / "report.json"))

    (check,) = json.loads((tmp_path / "report.json").read_text())["checks"]
    found = check["report"]
    assert result.exit_code == 0
    assert ["position_ids, default call", "leaks", "known"] == [check["name"], check["group"], check["status"]]
    assert [(j, i) for i in range(8) for j in range(i)] == [(p["source"], p["target"]) for p in found["pairs"]]
    assert {"row": 0, "start": 9, "stop": 12} == found["sequences"][1]
    assert check["deviation"] == max(p["gradient"] for p in found["pairs"]) / found["own"]
    assert "of a leak the largest gradient at a foreign token" in result.stdout


def test_an_unknown_check_is_refused_with_the_choices():
    result = run("report", "--only", "nonsense")

    assert result.exit_code == 2
    assert "'nonsense' matches no check" in re.sub(r"[\s│]+", " ", result.output)


def test_a_folder_that_is_not_there_is_refused_before_anything_runs(tmp_path):
    result = run("report", "--json", str(tmp_path / "nowhere" / "report.json"))

    assert result.exit_code == 2
    assert "name a file in a folder that is there" in re.sub(r"[\s│]+", " ", result.output)


def test_the_version_is_that_of_the_distribution():
    result = run("--version")

    assert f"weighbridge {version('weighbridge')}\n" == result.stdout

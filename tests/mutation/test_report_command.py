"""`report` turns a folder into files, and says with its exit status whether the campaign passes."""

import json
from types import SimpleNamespace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from faults import CATALOGUE
from mutation import asked
from mutation.cli import app
from tests.mutation.folder import fault, write

TESTS = ["t.py::test_kills", "t.py::test_idle"]


@pytest.fixture(autouse=True)
def nothing_is_excused(tmp_path, monkeypatch):
    """What the project's own file excuses are tests of the project, of which there are none here."""
    (tmp_path / "equivalents.toml").write_text("")
    monkeypatch.setattr(asked, "EXCEPTIONS", tmp_path / "equivalents.toml")


@pytest.fixture
def report(tmp_path):
    def report(faults, tests=TESTS):
        folder = write(tmp_path / "out", faults, tests)
        return folder, CliRunner().invoke(app, ["report", str(folder)])

    return report


def everything(**more):
    return {name: fault(killers=TESTS[:1], **more) for name in CATALOGUE}


def test_a_campaign_without_holes_passes(report):
    folder, result = report(everything(), TESTS[:1])

    assert 0 == result.exit_code
    assert json.loads((folder / "matrix.json").read_text())["passed"]


def test_an_idle_test_fails_the_campaign(report):
    _, result = report(everything())

    assert 1 == result.exit_code
    assert "t.py::test_idle kills nothing" in result.output


def test_a_surviving_fault_fails_the_campaign(report):
    (name, *_) = CATALOGUE
    _, result = report({name: fault(status="survived")})

    assert 1 == result.exit_code
    assert f"{name} is survived" in result.output


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_a_folder_without_a_campaign_is_refused(folder):
    result = CliRunner().invoke(app, ["report", folder], env={"COLUMNS": "200"})

    assert 2 == result.exit_code
    assert "summary.json cannot be read" in result.output


def test_a_campaign_over_one_fault_says_nothing_of_tests(report):
    (name, *_) = CATALOGUE
    folder, result = report({name: fault(killers=TESTS[:1])})

    assert 0 == result.exit_code
    assert json.loads((folder / "matrix.json").read_text())["analysis"] is None


def test_a_campaign_ends_with_its_reports(tmp_path, monkeypatch):
    def carry_out(*arguments, **more):
        write(tmp_path / "out", everything(), TESTS[:1])
        return [], SimpleNamespace(console=Console(quiet=True))

    monkeypatch.setattr("mutation.cli.carry_out", carry_out)
    result = CliRunner().invoke(app, ["planted", "--out", str(tmp_path / "out")])

    assert 0 == result.exit_code
    assert (tmp_path / "out" / "matrix.html").exists()

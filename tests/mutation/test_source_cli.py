"""`python -m mutation source` refuses what it cannot do before mutmut is started."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mutation.cli import app


def answer(*arguments):
    return CliRunner().invoke(app, ["source", *arguments], env={"COLUMNS": "200"})


def test_keeping_nothing_and_keeping_most_exclude_each_other():
    result = answer("--fresh", "--changed")

    assert 2 == result.exit_code
    assert "give one of the two" in result.output


@pytest.mark.parametrize(("text", "told"), [(None, "no pyproject.toml"), ("", "no source_paths")])
def test_a_folder_that_is_no_project_is_refused(text, told):
    if text is not None:
        Path("pyproject.toml").write_text(text)
    result = answer()

    assert 1 == result.exit_code
    assert told in result.output
    assert not Path("mutants").exists()


def test_equivalents_that_cannot_be_read_are_refused():
    Path("pyproject.toml").write_text("[tool.mutmut]\nsource_paths = ['pkg']\n")
    Path("mutation").mkdir()
    Path("mutation/equivalents.toml").write_text("[[source]]\nfunction = 'f'\n")
    result = answer()

    assert 1 == result.exit_code
    assert "give function, old, new, reason" in result.output
    assert not Path("mutants").exists()

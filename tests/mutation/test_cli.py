"""The command line refuses what it does not know."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mutation.cli import app


@pytest.mark.parametrize(
    "arguments",
    [
        ["prove", "mean_of_micro_batch_mean"],
        ["why", "mean_of_micro_batch_mean"],
        ["planted", "--fault", "mean_of_micro_batch_mean"],
        ["planted", "--executor", "dask", "--fault", "mean_of_micro_batch_mean"],
    ],
)
def test_an_unknown_fault_is_answered_with_the_nearest_names(arguments):
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})

    assert result.exit_code == 2
    assert "'mean_of_micro_batch_mean'" in result.output
    assert "did you mean mean_of_micro_batch_means" in result.output


def test_an_unknown_mode_is_refused():
    result = CliRunner().invoke(app, ["planted", "--mode", "all"])

    assert result.exit_code == 2


def test_a_folder_without_a_campaign_is_not_resumed(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    result = CliRunner().invoke(app, ["planted", "--resume", "--out", str(tmp_path)], env={"COLUMNS": "400"})

    assert result.exit_code == 2
    assert "nothing to resume" in result.output
    assert not list(tmp_path.iterdir())


def test_a_suite_that_does_not_exist_is_refused_at_once():
    result = CliRunner().invoke(app, ["planted", "--suite", "no/such/folder"], env={"COLUMNS": "200"})

    assert result.exit_code == 2
    assert "--suite no/such/folder: there is no such file or folder" in result.output


@pytest.mark.parametrize(
    "arguments",
    [["planted"], ["nightly"], ["prove", "zeros_left_out"], ["lint"], ["sensitivity"]],
)
def test_outside_a_checkout_nothing_is_written(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "400"})

    assert result.exit_code == 2
    assert re.search(r"holds no tests/properties\S*: change to the top of a checkout", result.output)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["--shard", "3/2"], ["--scheduler", "tcp://127.0.0.1:1"]])
def test_where_a_campaign_runs_is_said_in_one_way(arguments):
    result = CliRunner().invoke(app, ["planted", *arguments], env={"COLUMNS": "200"})

    assert result.exit_code == 2
    assert arguments[0] in result.output

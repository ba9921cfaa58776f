"""The command `weighbridge atlas`: what it writes, what it goes on with, and what it refuses."""

import json
import re

import pytest
from typer.testing import CliRunner

from instrument.atlas import command, sweep
from instrument.atlas.cell import OK, Cell, Result
from instrument.atlas.checks import all_checks
from instrument.cli import app


def run(*words):
    """Run the command in this process."""
    return CliRunner().invoke(app, ["atlas", *words])


@pytest.fixture
def asked(monkeypatch):
    """Names that were measured, in place of measuring them."""
    names = []

    def measure(chosen, head, workers):
        for name in chosen:
            names.append(name)
            yield Result(name, "", "Model", 1, {}, {}, {c.name: Cell(OK, 0.0, "") for c in all_checks()}, 0.5)

    monkeypatch.setattr(sweep, "sweep", measure)
    return names


def test_a_pattern_chooses_architectures(asked):
    result = run("--architectures", "granitemoe*")

    assert 0 == result.exit_code
    assert ["granitemoe", "granitemoe_swa", "granitemoehybrid", "granitemoeshared"] == asked
    assert "4 of 4 built, 4 conclusive on every check" in result.stdout


def test_a_resumed_sweep_measures_only_what_is_missing(asked, tmp_path):
    file = str(tmp_path / "atlas.json")
    run("--architectures", "gpt2", "--json", file)

    result = run("--architectures", "gpt*2", "--json", file, "--resume")
    run("--architectures", "llama", "--json", file, "--resume")

    assert ["gpt2", "llama"] == asked
    assert "1 of 1 built" in result.stdout
    assert ["gpt2", "llama"] == list(json.loads((tmp_path / "atlas.json").read_text())["architectures"])


def test_both_files_are_written(asked, tmp_path):
    run("--architectures", "llama", "--json", str(tmp_path / "a.json"), "--html", str(tmp_path / "a.html"))

    assert "llama" in json.loads((tmp_path / "a.json").read_text())["architectures"]
    assert "<td>Model</td>" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--architectures", "nonsense"], "'nonsense' matches none of"),
        (["--resume"], "--resume needs --json FILE"),
        (["--json", "nowhere/a.json"], "name a file in a folder that is there"),
        (["--html", "nowhere/a.html"], "name a file in a folder that is there"),
        (["--head", "nonsense"], "none of causal-lm, conditional-generation"),
        (["--repro", "llama", "nonsense"], "one of the checks 'packed, default call'"),
        (["--repro", "nonsense", "head"], "'nonsense' matches none of"),
        (["--repro", "musicgen", "head"], "musicgen cannot be built"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_runs(asked, words, said):
    result = run(*words)

    assert 2 == result.exit_code
    assert said in re.sub(r"[\s│]+", " ", result.output)
    assert [] == asked


def test_repro_prints_a_script():
    result = run("--repro", "gpt2", "packed, default call")

    assert 0 == result.exit_code
    assert "config = CONFIG_MAPPING['gpt2'](**{" in result.stdout
    compile(result.stdout, "script", "exec")


def test_the_summary_counts_each_answer_and_names_the_farthest_off():
    results = [Result(name, "", "Model", 1) for name in ("a", "b")]
    for result, off in zip(results, (0.25, 4.0)):
        result.cells = {c.name: Cell("deviates", off, "") for c in all_checks()}

    table = command.summary([*results, Result("c", "no")], "causal-lm")

    assert ["0", "2", "0", "0", "b, 4"] == [column._cells[0] for column in table.columns[1:]]

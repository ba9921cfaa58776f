"""What the commands refuse, before anything is made or measured; and how they write their files."""

import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from instrument.cli import app


def said_by(asked):
    """Exit status and output of a command, the latter without its frame."""
    ended = CliRunner().invoke(app, asked)
    return ended.exit_code, re.sub(r"[\s│]+", " ", ended.output)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["history", "--json", "no/where.json"], "--json no/where.json: name a file in a folder that is there"),
        (["history", "--html", "no/where.html"], "--html no/where.html: name a file in a folder that is there"),
        (["history", "--html", "/proc/no.html"], "--html /proc/no.html: No such file or directory"),
        (["history", "--library", "numpy"], "--library 'numpy' has no pins: give one of transformers"),
        (["history", "--versions", "3"], "--versions '3': transformers is pinned at 4.40.2"),
        (["history", "--versions", ""], "--versions '': transformers is pinned at 4.40.2"),
        (["history", "--only", "nothing"], "--only 'nothing' matches no check: give a group"),
        (["export", "no/where.json"], "FILE no/where.json: name a file in a folder that is there"),
        (["legacy-ga", "no/where.json"], "FILE no/where.json: name a file in a folder that is there"),
        (["export", "."], "FILE .: name a file in a folder that is there"),
        (["legacy-ga", "/proc/no.json"], "FILE /proc/no.json: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(asked, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = ["--cache", str(tmp_path / "cache")] if asked[0] == "history" else []

    status, output = said_by([*asked, *cache])

    assert status == 2
    assert said in output
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("clean", [[], ["--clean"]])
@pytest.mark.parametrize("cache", ["file/cache", "file", "/proc/cache", "mine"])
def test_a_cache_that_is_no_place_for_one_is_refused(cache, clean, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").write_text("x")

    status, output = said_by(["history", "--versions", "4.45.2", "--cache", str(tmp_path / cache), *clean])

    assert status == 2
    assert "Traceback" not in output
    assert "--cache" in output
    assert (tmp_path / "file").read_text() == (tmp_path / "mine" / "thesis").read_text() == "x"


@pytest.mark.spawn
@pytest.mark.parametrize("command", ["legacy-ga", "export"])
def test_without_transformers_there_is_one_clear_error(command, tmp_path):
    text = f"import sys; sys.modules['transformers'] = None; sys.argv[1:] = ['{command}', 'out.json']; "
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "COLUMNS": "300"}

    ended = subprocess.run(
        [sys.executable, "-c", text + "from instrument.cli import main; main()"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=surroundings,
    )

    assert ended.returncode == 2
    assert "what is installed is measured, and it cannot be imported" in ended.stderr
    assert "transformers" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


def test_what_is_written_replaces_a_file(tmp_path):
    (tmp_path / "ga.json").write_text("before")

    status, _ = said_by(["legacy-ga", str(tmp_path / "ga.json")])

    assert status == 0
    assert ["accumulation 4x2"] == [each["name"] for each in json.loads((tmp_path / "ga.json").read_text())["checks"]]

"""What the commands refuse, before anything is made or measured."""

import re

import pytest
from typer.testing import CliRunner

from instrument.cli import app


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["history", "--json", "no/where.json"], "--json no/where.json: name a file in a folder that is there"),
        (["history", "--html", "no/where.html"], "--html no/where.html: name a file in a folder that is there"),
        (["history", "--library", "numpy"], "--library 'numpy' has no pins: give one of transformers"),
        (["history", "--versions", "3"], "--versions '3': transformers is pinned at 4.40.2"),
        (["export", "no/where.json"], "FILE no/where.json: name a file in a folder that is there"),
        (["legacy-ga", "no/where.json"], "FILE no/where.json: name a file in a folder that is there"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(asked, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = ["--cache", str(tmp_path / "cache")] if asked[0] == "history" else []

    ended = CliRunner().invoke(app, [*asked, *cache])

    assert ended.exit_code == 2
    assert said in re.sub(r"[\s│]+", " ", ended.output)
    assert not (tmp_path / "cache").exists()

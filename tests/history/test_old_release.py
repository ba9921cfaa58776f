"""One old release for real: made, measured in its own environment, and taken from the cache the next time."""

import json

import pytest
from typer.testing import CliRunner

from instrument.cli import app
from instrument.history import measure


@pytest.mark.slow
@pytest.mark.spawn
def test_4_45_2_weighs_by_the_mean_of_micro_batch_means_in_its_own_trainer(tmp_path, monkeypatch):
    file, cache = tmp_path / "history.json", tmp_path / "cache"
    asked = [
        "history",
        "--versions",
        "4.45.2",
        "--only",
        "accumulation 4x2",
        "--cache",
        str(cache),
        "--json",
        str(file),
    ]

    ended = CliRunner().invoke(app, asked)

    (column,) = json.loads(file.read_text())["columns"]
    assert ended.exit_code == 0
    assert column["versions"]["transformers"] == "4.45.2"
    assert "mean of micro-batch means, M = 4" in column["cells"]["accumulation 4x2"]["measured"]

    monkeypatch.setattr(measure, "run", lambda *_: pytest.fail("measured once more"))
    file.unlink()

    assert CliRunner().invoke(app, asked).exit_code == 0
    assert json.loads(file.read_text())["columns"] == [column]

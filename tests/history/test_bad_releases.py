"""A release that fails costs its column, with the reason, and nothing else; a run that is interrupted goes on later.

The environments here hold a shell script in place of an interpreter, which does what a broken release does.
"""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from instrument.cli import app
from instrument.history import environments, measure
from instrument.history.programs import Programs

# As column.py is called: -P -m MODULE FILE LIBRARY RELEASE.
MEASURES = """echo '{"versions": {}, "cells": {"a check": {"status": "ok", "measured": "fine"}}}' > "$4" """
HANGS = "echo $$ > {folder}/pid; exec sleep 600"
BROKEN = "echo 'ModuleNotFoundError: gone' >&2; exit 1"
CRASHES = "kill -SEGV $$"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache; nothing can be installed into it, as without a network."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    environments.begin(tmp_path / "cache")
    return tmp_path / "cache"


def environment(cache, release, text):
    """An environment that stands ready and does that when it is asked for its column."""
    beside = environments.pins("transformers")[release]
    folder = cache / f"transformers-{release}-{environments.key('transformers', release, beside)}"
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    (folder / "complete").touch()
    python = folder / "bin" / "python"
    python.write_text(f"#!/bin/sh\n{text.format(folder=folder) if 'folder' in text else text}\n")
    python.chmod(0o755)
    (folder / "lib" / "python3" / "site-packages").mkdir(parents=True, exist_ok=True)
    return folder


def history(cache, *versions):
    """The command over these releases, and the columns that it wrote."""
    file = cache.parent / "out.json"
    asked = ["history", "--versions", ",".join(versions), "--cache", str(cache), "--json", str(file)]
    ended = CliRunner().invoke(app, asked)
    return ended, {column["release"]: column for column in json.loads(file.read_text())["columns"]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HANGS, "does not run: not done after 1 s"),
        (BROKEN, "does not run: ModuleNotFoundError: gone"),
        (CRASHES, "does not run: ended by SIGSEGV"),
        ("true", "does not run: [Errno 2] No such file or directory"),
    ],
)
def test_a_release_that_does_not_run_costs_its_column_alone(cache, monkeypatch, text, reason):
    monkeypatch.setattr(measure, "SECONDS", 1)
    environment(cache, "4.44.2", text)
    environment(cache, "4.45.2", MEASURES)

    ended, columns = history(cache, "4.44.2", "4.45.2")

    assert ended.exit_code == 0
    assert columns["4.44.2"]["reason"].startswith(reason)
    assert not columns["4.44.2"]["cells"]
    assert f"4.44.2: {reason}" in ended.stdout
    assert "ok" == columns["4.45.2"]["cells"]["a check"]["status"]


def test_a_release_that_cannot_be_installed_costs_its_column_and_leaves_nothing(cache):
    environment(cache, "4.45.2", MEASURES)

    ended, columns = history(cache, "4.44.2", "4.45.2")

    assert ended.exit_code == 0
    assert columns["4.44.2"]["reason"].startswith("does not install: ERROR: Could not find a version")
    assert not list(cache.glob("transformers-4.44.2-*"))
    assert columns["4.45.2"]["cells"]


def test_the_status_is_1_where_no_release_runs(cache):
    environment(cache, "4.45.2", BROKEN)

    ended, _ = history(cache, "4.45.2")

    assert ended.exit_code == 1


def test_a_cache_that_cannot_be_written_costs_the_columns_that_need_it(cache):
    (cache / "results").write_text("no folder")
    environment(cache, "4.45.2", MEASURES)

    ended, columns = history(cache, "4.45.2")

    assert ended.exit_code == 1
    assert columns["4.45.2"]["reason"].startswith("does not run: [Errno ")


@pytest.mark.parametrize("text", [BROKEN, None])
def test_a_broken_environment_is_made_anew_the_next_time(cache, text):
    folder = environment(cache, "4.45.2", text or MEASURES)
    if text is None:
        (folder / "bin" / "python").unlink()
        (folder / "bin" / "python").symlink_to("/no/interpreter")
    else:
        history(cache, "4.45.2")

    _, columns = history(cache, "4.45.2")

    assert columns["4.45.2"]["reason"].startswith("does not install:")


@pytest.mark.parametrize("text", [CRASHES, HANGS])
def test_an_environment_that_runs_is_kept_whatever_the_release_does(cache, monkeypatch, text):
    monkeypatch.setattr(measure, "SECONDS", 1)
    folder = environment(cache, "4.45.2", text)

    history(cache, "4.45.2")

    assert (folder / "complete").exists()


def test_results_that_a_disk_lost_a_part_of_are_measured_again(cache):
    environment(cache, "4.45.2", MEASURES)
    _, first = history(cache, "4.45.2")
    (file,) = (cache / "results").glob("*.json")
    file.write_text(file.read_text()[:20])

    ended, second = history(cache, "4.45.2")

    assert ended.exit_code == 0
    assert first == second


def test_a_name_that_no_release_has_a_check_for_is_refused(cache):
    environment(cache, "4.45.2", """echo '{"versions": {}, "cells": {}}' > "$4" """)
    asked = ["history", "--versions", "4.45.2", "--only", "padding", "--cache", str(cache)]

    ended = CliRunner().invoke(app, asked)

    assert ended.exit_code == 2
    assert "--only 'padding' matches no check of these releases" in " ".join(ended.output.split())


def started(cache, *more):
    """The command as a process of its own."""
    command = [sys.executable, "-m", "instrument.cli", "history", "--cache", str(cache), *more]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "COLUMNS": "200"}
    # In the background of a shell an interrupt is ignored, and what is started there inherits that.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings, preexec_fn=heard
    )


def until(holds):
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.spawn
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_process_and_goes_on_the_next_time(cache, number):
    folder = environment(cache, "4.44.2", HANGS)
    environment(cache, "4.45.2", MEASURES)
    running = started(cache, "--versions", "4.44.2,4.45.2,4.46.0")
    until(lambda: (folder / "pid").exists() and (folder / "pid").read_text() and list(cache.glob("results/*4.45.2*n")))

    running.send_signal(number)
    _, said = running.communicate(timeout=60)

    assert running.returncode == 130
    assert "interrupted: what was made and measured is kept" in said
    until(lambda: not Path("/proc", (folder / "pid").read_text().strip()).exists())
    environment(cache, "4.44.2", MEASURES)
    environment(cache, "4.45.2", BROKEN)
    ended, columns = history(cache, "4.44.2", "4.45.2")
    assert ended.exit_code == 0
    assert all(column["cells"] for column in columns.values())


@pytest.mark.spawn
def test_a_second_run_says_that_it_waits_and_then_runs(cache):
    with environments.locked(cache):
        second = started(cache, "--clean")
        said = second.stderr.readline()
        assert (cache / "weighbridge-history").exists()
    out, _ = second.communicate(timeout=60)

    assert f"another run holds {cache}: waiting until it ends" in said
    assert second.returncode == 0
    assert out.startswith("removed ")
    assert not cache.exists()


def test_a_program_that_cannot_be_started_costs_its_column(cache):
    folder = environment(cache, "4.45.2", MEASURES)
    (folder / "bin" / "python").chmod(0o644)

    column = measure.measure(
        cache, "transformers", "4.45.2", environments.pins("transformers")["4.45.2"], None, Programs()
    )

    assert column.reason.startswith("does not run: [Errno 13] Permission denied")

"""A campaign that is killed, or runs out of disk, goes on where it was: no verdict is lost and none invented."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.mutation.project import ROOT, lay_out

pytestmark = pytest.mark.spawn

# All sentinels but `once`, which is wrong until a file of its own says otherwise, and so depends on what was lost.
NAMES = ["wrong", "late", "harmless", "excused", "denied", "unmeasured", "measured_only", "raises", "hangs"]
NAMES += ["segfaults", "exits", "interrupts", "unreached", "unplantable", "outdated", "litters", "cached", "moved"]


def start(folder, *arguments, limit=""):
    """Start a campaign with a folder of its own for all temporary files."""
    (folder / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        ["sh", "-c", f'{limit} exec "$@"', "sh", sys.executable, "campaign.py", *arguments, *NAMES],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def told(folder, *arguments, limit=""):
    """Run a campaign to its end; what it printed."""
    process = start(folder, *arguments, limit=limit)
    printed, _ = process.communicate(timeout=300)
    return printed


def lines_of(folder):
    file = folder / "out" / "journal.jsonl"
    return file.read_text().splitlines() if file.exists() else []


def verdicts_of(folder):
    """Verdicts, without the notes, in which places and addresses stand."""
    verdicts = json.loads((folder / "out" / "summary.json").read_text())["faults"]
    return {name: {**verdict, "note": ""} for name, verdict in verdicts.items()}


def alive(folder):
    """Processes that were started with this folder for their temporary files."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(folder / "tmp") in environment.read_bytes().decode(errors="replace"):
                found.append(environment.parent.name)
        except OSError:
            continue
    return found


def gone(folder):
    """Whether within ten seconds nothing runs in a folder any more."""
    for _ in range(100):
        if not alive(folder):
            return True
        time.sleep(0.1)
    return False


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = lay_out(tmp_path_factory.mktemp("undisturbed"))
    printed = told(folder, "matrix")
    assert (folder / "out" / "summary.json").exists(), printed
    return folder


def assert_the_same_after_a_kill(folder, undisturbed, draw):
    """Kill a campaign when its journal has a random number of lines, and a random moment later."""
    lines, pause = draw.randrange(1, len(lines_of(undisturbed))), draw.uniform(0, 0.3)
    process = start(folder, "matrix")
    while len(lines_of(folder)) < lines and process.poll() is None:
        time.sleep(0.005)
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert gone(folder), f"killed at line {lines}: {alive(folder)} are left"
    printed = ""
    if '{"end"' not in (lines_of(folder) or [""])[-1]:
        printed = told(folder, "matrix", "--resume")
    assert verdicts_of(undisturbed) == verdicts_of(folder), f"killed at line {lines}: {printed}"
    rows = [json.loads(line) for line in lines_of(folder) if line.endswith("}") and '"key"' in line]
    twice = [cell for cell, count in Counter((r["fault"], r["part"], r["test"]) for r in rows).items() if count > 1]
    assert not twice, f"killed at line {lines}: run twice {twice}"
    assert not alive(folder)
    assert not list((folder / "tmp").iterdir()), f"killed at line {lines}"


@pytest.mark.parametrize("turn", range(2))
def test_a_killed_campaign_goes_on_to_the_same_verdicts(undisturbed, tmp_path, turn):
    seed = random.randrange(2**32)
    print("seed", seed)

    assert_the_same_after_a_kill(lay_out(tmp_path), undisturbed, random.Random(seed))


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(20))
def test_twenty_killed_campaigns_go_on_to_the_same_verdicts(undisturbed, tmp_path, turn):
    seed = random.randrange(2**32)
    print("seed", seed)

    assert_the_same_after_a_kill(lay_out(tmp_path), undisturbed, random.Random(seed))


def test_a_campaign_without_room_on_the_disk_goes_on_to_the_same_verdicts(undisturbed, tmp_path):
    folder = lay_out(tmp_path)

    printed = told(folder, "matrix", limit="ulimit -f 16;")

    assert "make room, then --resume" in printed
    assert not (folder / "out" / "summary.json").exists()
    assert gone(folder)
    # The last line is torn.
    assert not lines_of(folder)[-1].endswith("}")
    told(folder, "matrix", "--resume")
    assert verdicts_of(undisturbed) == verdicts_of(folder)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(["first", "--resume"], "nothing to resume, the last campaign there is complete"), (["matrix", "--resume"], "")],
)
def test_what_is_complete_is_not_resumed(undisturbed, tmp_path, arguments, reason):
    folder = shutil.copytree(undisturbed, tmp_path / "project")
    before = {file.name: file.read_bytes() for file in (folder / "out").iterdir()}

    assert reason in told(folder, *arguments)

    assert before == {file.name: file.read_bytes() for file in (folder / "out").iterdir()}

"""A campaign leaves neither processes nor files, however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.mutation.project import ROOT

pytestmark = pytest.mark.spawn

# Each leaves by another door: its folder, its output, its environment; none stays in the session of its parent.
CAMPAIGN = """
import os, subprocess, sys, tempfile, time
from mutation.guard import guarded
with guarded():
    folder = tempfile.mkdtemp()
    nothing = subprocess.DEVNULL
    inside = subprocess.Popen(["sleep", "600"], cwd=folder, stdout=nothing, stderr=nothing, start_new_session=True)
    prints = subprocess.Popen(["sleep", "600"], stdout=open(folder + "/log", "w"), start_new_session=True)
    told = {**os.environ, "TMPDIR": folder}
    given = subprocess.Popen(["sleep", "600"], env=told, stdout=nothing, stderr=nothing, start_new_session=True)
    print(inside.pid, prints.pid, given.pid, flush=True)
    if sys.argv[1] == "stay":
        time.sleep(600)
"""


def start(folder, how):
    """Start a campaign; the process, and the processes that it left running."""
    process = subprocess.Popen(
        [sys.executable, "-c", CAMPAIGN, how],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, [int(pid) for pid in process.stdout.readline().split()]


def running(pid):
    """Whether a process runs; one that nobody has reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def soon(condition):
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("how", ["end", "stay"])
def test_nothing_is_left_at_the_end_or_after_a_kill(tmp_path, how):
    process, left = start(tmp_path, how)
    assert 3 == len(left)
    if how == "stay":
        assert all(running(pid) for pid in left)
        process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)

    assert soon(lambda: not any(running(pid) for pid in left))
    assert soon(lambda: not list(tmp_path.iterdir()))


def test_the_next_campaign_clears_up_behind_one_that_lost_its_guard(tmp_path):
    process, left = start(tmp_path, "stay")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (guard,) = [int(pid) for pid in children if int(pid) not in left]
    os.kill(guard, signal.SIGKILL)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert all(running(pid) for pid in left)

    process, _ = start(tmp_path, "end")
    process.communicate(timeout=60)

    assert not any(running(pid) for pid in left)
    assert not list(tmp_path.iterdir())


def test_a_campaign_that_runs_is_left_alone(tmp_path):
    process, left = start(tmp_path, "stay")

    other, _ = start(tmp_path, "end")
    other.communicate(timeout=60)

    assert all(running(pid) for pid in left)
    assert list(tmp_path.iterdir())
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert soon(lambda: not list(tmp_path.iterdir()))

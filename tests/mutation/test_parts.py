"""A campaign in parts comes to the same verdicts: by hand, and on workers of Dask of which one is lost."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mutation.processes import children
from mutation.scale.dask_executor import spread_out
from mutation.scale.merge import merge
from tests.mutation.project import ROOT, campaign, lay_out

pytestmark = pytest.mark.spawn
FAULTS = ["wrong", "late", "harmless", "unreached", "raises", "denied"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = lay_out(tmp_path)
    (folder / "test_collected.py").unlink()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return folder


def statuses(folder):
    told = json.loads((folder / "summary.json").read_text())
    return {name: (verdict["status"], verdict["effect"]) for name, verdict in told["faults"].items()}


EXPECTED = {
    "denied": ("killed", "mismatched"),
    "harmless": ("survived", "matched"),
    "late": ("killed", "matched"),
    "raises": ("error only", "matched"),
    "unreached": ("not reached", "matched"),
    "wrong": ("killed", "matched"),
}


def test_parts_put_together_are_the_whole(project):
    for part in (1, 2):
        done = campaign(project, "first", *FAULTS, f"--shard={part}/2", f"--out=part-{part}")
        assert done.returncode == 0, done.stderr

    merge([project / "part-2", project / "part-1"], project / "whole")

    assert EXPECTED == statuses(project / "whole")
    assert len(statuses(project / "part-1")) == 3


def test_the_faults_of_a_lost_worker_are_tried_again(project):
    told, lost = [], []

    def lose_one():
        """Kill the first worker that has a campaign running, once."""
        while not lost:
            time.sleep(0.05)
            for worker in descendants(os.getpid()):
                campaigns = [pid for pid in descendants(worker, 1) if b"campaign.py" in command_of(pid)]
                if campaigns and not lost:
                    os.kill(worker, signal.SIGKILL)
                    lost.append((worker, campaigns))

    killer = threading.Thread(target=lose_one, daemon=True)
    killer.start()
    spread_out([sys.executable, "campaign.py", "first", *FAULTS], len(FAULTS), project / "out", None, 2, told.append)
    killer.join(timeout=1)

    assert EXPECTED == statuses(project / "out")
    assert 2 == len(told)
    (_, campaigns), *_ = lost
    assert not [pid for pid in campaigns if alive(pid)]


def test_a_part_that_is_void_makes_the_whole_void(project):
    with (project / "test_toy.py").open("a") as suite:
        suite.write("\n\ndef test_is_red():\n    assert toy.wrong(1) == 3\n")

    with pytest.raises(RuntimeError, match=r"shard ./2 came to no end"):
        spread_out([sys.executable, "campaign.py", "first", *FAULTS], 6, project / "out", None, 2, lambda line: None)
    assert not (project / "out" / "summary.json").exists()


def test_the_command_hands_its_options_to_every_part(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "test_it.py").write_text(
        """
import torch

def test_gradients_are_taken_off():
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight])
    weight.sum().backward()
    optimizer.zero_grad()
    assert weight.grad is None
"""
    )
    faults = ["--fault", "zero_grad_left_out", "--fault", "upstream_ignored"]
    command = [sys.executable, "-m", "mutation", "planted", "--executor", "dask", "--suite", "theirs", *faults]

    done = subprocess.run([*command, "--no-cache"], capture_output=True, text=True, timeout=300)

    assert done.returncode == 1, done.stderr
    assert {
        "zero_grad_left_out": ("killed", "not asked"),
        "upstream_ignored": ("not reached", "not asked"),
    } == statuses(tmp_path / "planted")
    assert (tmp_path / "planted" / "matrix.html").exists()


def descendants(pid, generations=3):
    """The processes below one, without itself."""
    found, level = [], [pid]
    for _ in range(generations):
        level = [child for parent in level for child in below(parent)]
        found += level
    return found


def below(pid):
    found = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, listing.read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def alive(pid):
    return pid in children() or b"campaign.py" in command_of(pid)

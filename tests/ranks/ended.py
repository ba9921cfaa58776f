"""Whether processes have ended."""

import time
from pathlib import Path


def running(pids):
    """Which processes are there, and no zombies."""
    stats = [Path(f"/proc/{pid}/stat") for pid in pids]
    return [
        stat.parent.name for stat in stats if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
    ]


def assert_gone(pids):
    until = time.monotonic() + 10
    while running(pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert running(pids) == []

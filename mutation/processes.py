"""Ending a forked child, and everything that its tests started."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Collection


def adopt_orphans() -> None:
    """Make this process the parent of descendants that lose theirs (Linux, PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent dies (Linux, PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, by, 0, 0, 0)


def has_ended(pid: int) -> bool:
    """Whether a child has ended; it stays to be reaped, so that its number is not given to another process."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end(pid: int) -> int:
    """Kill a child with its process group and reap it.

    Returns:
        Its exit status; minus the signal's number when a signal ended it.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def sweep(live: Collection[int]) -> None:
    """End every child of this process that is not in `live`.

    Such a child left its process group, and came here when the child that started it ended. A live child adopts its
    own orphans, so nothing of a test that still runs is hit.
    """
    while strays := [pid for pid in children() if pid not in live]:
        for pid in strays:
            end(pid)


def children() -> list[int]:
    """List the processes whose parent is this one."""
    return [pid for pid, parent in parents().items() if parent == os.getpid()]


def parents() -> dict[int, int]:
    """The parent of every process."""
    found = {}
    # By plain names: this runs after every child and twice a second, and pathlib would take twice as long.
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{name}/stat", "rb") as stat:
            # The name, in brackets, may hold anything; the parent is the second field after it.
            found[int(name)] = int(stat.read().rpartition(b")")[2].split()[1])
    return found

"""What one child, with all that its tests start, may take from the machine."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from mutation.processes import parents


class Watch:
    """Looks, twice a second, at a child's memory and at what it has written into its folder.

    Attributes:
        pid: of the child.
        scratch: its folder, which holds its output in `log` and all temporary files.
        memory: GiB that the child and its descendants may hold.
    """

    def __init__(self, pid: int, scratch: Path, memory: float) -> None:
        self.pid, self.scratch, self.memory = pid, scratch, memory
        self.next = 0.0

    def excess(self) -> str:
        """Name the limit that is exceeded, in a sentence; empty when none is, or when it is too soon to look again."""
        if time.monotonic() < self.next:
            return ""
        printed = (self.scratch / "log").stat().st_size / 2**20 if (self.scratch / "log").exists() else 0
        told = ""
        if printed > 64:
            told = f"output limit: {printed:.0f} MiB printed, 64 MiB allowed"
        elif (written := size(self.scratch) / 2**30) > 2:
            told = f"disk limit: {written:.1f} GiB in temporary files, 2 GiB allowed"
        elif (held := memory(self.pid, self.memory)) > self.memory:
            told = f"memory limit: {held:.1f} GiB held by the test and what it started, {self.memory:g} GiB allowed"
        self.next = time.monotonic() + 0.5
        return told


def memory(pid: int, enough: float) -> float:
    """GiB that a process and its descendants hold.

    Shared pages are counted once per process, and divided only if the sum is more than `enough`: that takes longer.
    """
    family = list(descendants(pid))
    held = sum(pages(member) for member in family) * os.sysconf("SC_PAGE_SIZE") / 2**30
    return sum(proportional(member) for member in family) / 2**30 if held > enough else held


def descendants(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    above = parents()
    generation = [pid]
    while generation:
        yield from generation
        generation = [child for child, parent in above.items() if parent in generation]


def pages(pid: int) -> int:
    """Resident pages of a process; 0 when it has ended."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return 0


def proportional(pid: int) -> int:
    """Bytes of a process, with each shared page divided by those who share it; 0 when it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def size(folder: Path) -> int:
    """Bytes on the disk of all files in a folder."""
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, file)).st_blocks * 512
    return total

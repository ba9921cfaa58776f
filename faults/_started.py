"""A fault, or the counters on seams, in every process that a test starts: forked, spawned or launched.

A forked process inherits the fault. A fresh Python process finds `_site/sitecustomize.py` on its PYTHONPATH and, in an
environment variable, what to plant: the file for the counts, the fault, the path and the seams, one per line.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path

from ._fault import Fault
from ._plant import swapped

PLANTED: list[AbstractContextManager[None]] = []


class Tally:
    """Calls of seams, in one process and in all that it starts.

    The process counts its own. Any other appends the number of the seam to a file: a short write is never torn, and
    what is written outlives os._exit.

    Attributes:
        numbers: of the seams in the file.
        owner: the process whose calls are counted in memory.
    """

    def __init__(self, file: str, numbers: Mapping[str, int], owner: int) -> None:
        self.file, self.numbers, self.owner = file, numbers, owner
        self.counts = dict.fromkeys(numbers, 0)
        self.read = 0

    def caller(self, seam: str) -> Callable[[], None]:
        """Make what is to be called at each call of a seam."""

        def reached() -> None:
            if os.getpid() == self.owner:
                self.counts[seam] += 1
                return
            # Opened each time, since what a test starts may close or inherit any descriptor.
            out = os.open(self.file, os.O_WRONLY | os.O_APPEND)
            os.write(out, f"{self.numbers[seam]}\n".encode())
            os.close(out)

        return reached

    def total(self) -> Mapping[str, int]:
        """Calls so far, by seam.

        Raises:
            LookupError: a started process has no such seam.
            RuntimeError: in a started process the fault could not be planted for another reason.
        """
        with open(self.file) as file:
            file.seek(self.read)
            lines = file.read().splitlines()
            end = file.tell()
        for line in lines:
            if line.startswith("!"):
                kind = LookupError if line.startswith("!LookupError: ") else RuntimeError
                raise kind(f"in a started process: {line[1:]}")
        seams = list(self.numbers)
        for line in lines:
            self.counts[seams[int(line)]] += 1
        self.read = end
        return self.counts


def environment(file: Path, place: str, seams: Sequence[str]) -> dict[str, str]:
    """The variables by which a fresh Python process learns what to plant; arguments as in `everywhere`."""
    here, path = str(Path(__file__).with_name("_site")), os.pathsep.join(filter(None, sys.path))
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")])),
        "WEIGHBRIDGE_PLANTED": "\n".join([str(file), place, path, *seams]),
    }


@contextmanager
def everywhere(
    seams: Sequence[str], folder: Path, fault: Fault | None = None, place: str = ""
) -> Iterator[Callable[[], Mapping[str, int]]]:
    """Run the block with a fault on, or with seams counted only, in this process and in all that it starts.

    Args:
        seams: each "module:qualified name"; of a fault, its own.
        folder: for the file that the started processes write to.
        place: where a fresh process finds the fault, as "module:mapping:name".

    Yields:
        What tells the calls so far, by seam.

    Raises:
        LookupError: what is installed has no such seam.
    """
    file = folder / "hits"
    file.touch()
    tally = Tally(str(file), {seam: number for number, seam in enumerate(seams)}, os.getpid())
    added = environment(file, place, seams)
    kept = {name: os.environ.get(name) for name in added}
    with ExitStack() as stack:
        for seam in seams:
            stack.enter_context(switch(seam, fault, tally.caller(seam)))
        os.environ.update(added)
        try:
            yield tally.total
        finally:
            for name, value in kept.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def switch(seam: str, fault: Fault | None, reached: Callable[[], None]) -> AbstractContextManager[None]:
    """The fault on its seam, or nothing but a counter there."""
    if fault is None:
        return swapped(seam, seam.split(".")[0], lambda original: original, reached)
    return swapped(fault.seam, fault.library, fault.patch, reached)


def plant(file: str, place: str, numbers: Mapping[str, int]) -> None:
    """Switch a fault or counters on for the rest of this process, which a test has started.

    Raises:
        LookupError: there is no such fault, or no such seam for it in what this process finds installed.
    """
    fault = find_fault(place) if place else None
    tally = Tally(file, numbers, owner=0)
    for seam in numbers:
        # Kept, since the seam is restored when its context manager is collected.
        PLANTED.append(switch(seam, fault, tally.caller(seam)))
        # A seam that is only counted may be missing from a release that only this process finds: nobody calls it here.
        with nullcontext() if fault else suppress(LookupError):
            PLANTED[-1].__enter__()


def find_fault(place: str) -> Fault:
    """The fault at "module:mapping:name".

    Raises:
        LookupError: there is none.
    """
    module, mapping, name = place.split(":")
    faults: Mapping[str, Fault] = getattr(import_module(module), mapping, {})
    if name not in faults:
        raise LookupError(f"{module}:{mapping} holds no fault {name!r}: name the mapping that the campaign uses")
    return faults[name]

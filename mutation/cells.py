"""What is asked of a forked child, and what comes back."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

Counts = Callable[[], Mapping[str, int]]


@dataclass(frozen=True)
class Job:
    """Tests to run in a forked child.

    Attributes:
        name: the fault, or "baseline".
        part: "first", "second" or "effect" of a fault; "quick", "full" or "again" of a baseline.
        tests: node ids, in order.
        switch: makes, in the child's folder, what it enters around all of its tests; that yields what tells the calls
            of each seam so far.
        stop_at_kill: leave the tests that follow the first kill.
    """

    name: str
    part: str
    tests: tuple[str, ...]
    switch: Callable[[Path], AbstractContextManager[Counts]]
    stop_at_kill: bool = False


@dataclass(frozen=True)
class Cell:
    """One test in one child.

    Attributes:
        kind: see `mutation.status`.
        message: phase, class and text of the failure.
        seconds: of setup, call and teardown.
        hits: calls of each seam during the test.
        properties: what the test recorded with `record_property`.
    """

    kind: str
    message: str = ""
    seconds: float = 0.0
    hits: Mapping[str, int] = field(default_factory=dict)
    properties: Mapping[str, object] = field(default_factory=dict)


@dataclass
class Ran:
    """A job and what has come back so far.

    Attributes:
        cells: by test.
        modules: what the child imported and the parent had not.
        stale: what is missing where the seam was.
        harness: what went wrong outside of any test.
        log: end of what the child printed, when something went wrong.
    """

    job: Job
    cells: dict[str, Cell] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    stale: str = ""
    harness: str = ""
    log: str = ""

    def take(self, other: "Ran") -> None:
        """Add what another job of the same part brought back."""
        self.cells.update(other.cells)
        self.modules |= other.modules
        self.stale = self.stale or other.stale
        self.harness = self.harness or other.harness
        self.log = self.log or other.log

    def left(self) -> tuple[str, ...]:
        """The tests that are still to run: none behind a kill that is enough, or behind two that hang."""
        kinds = list(self.kinds().values())
        if kinds.count("timeout") >= 2 or (self.job.stop_at_kill and {"assert", "refusal"} & {*kinds}):
            return ()
        return tuple(test for test in self.job.tests if test not in self.cells)

    def kinds(self) -> dict[str, str]:
        """Kind of each test that ran."""
        return {test: cell.kind for test, cell in self.cells.items()}

    def hits(self) -> int:
        """Calls of all seams, as far as they were counted."""
        return sum(sum(cell.hits.values()) for cell in self.cells.values())

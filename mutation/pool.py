"""Which child runs when: a few at a time, each under a deadline, restarted behind a test that took it down."""

import gc
import select
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from mutation import processes
from mutation.cells import Cell, Job, Ran
from mutation.worker import Worker

Follow = Callable[[Ran], Iterable[Job]]
Watch = Callable[[Ran, str, Cell], None]


class Pool:
    """Runs jobs in forked children of this process.

    Attributes:
        items: the collected tests, by node id.
        root: folder of the project under test.
        workers: children at a time.
        spared: children that were there before, and are none of its business.
        limits: seconds that a test may take; one that is not listed gets two minutes.
    """

    def __init__(self, items: Mapping[str, pytest.Item], root: Path, workers: int) -> None:
        self.items, self.root, self.workers = items, root, workers
        self.limits: dict[str, float] = {}
        self.spared = processes.children()
        self.live: list[Worker] = []

    def run(self, jobs: Iterable[Job], follow: Follow, watch: Watch) -> None:
        """Run jobs, and the jobs that `follow` asks for when one is through; `watch` sees each cell as it comes."""
        waiting = deque(jobs)
        # What the collector never visits, a child never copies.
        gc.collect()
        gc.freeze()
        try:
            while waiting or self.live:
                while waiting and len(self.live) < self.workers:
                    self.start(Ran(waiting.popleft()))
                for ran in self.wait(watch):
                    waiting.extendleft(follow(ran))
        finally:
            for worker in self.live:
                worker.end()
            self.live.clear()
            processes.sweep(self.spared)

    def start(self, ran: Ran) -> None:
        """Fork a child for the tests of a job that have not run yet."""
        items = [self.items[test] for test in ran.job.tests if test not in ran.cells]
        self.live.append(Worker(ran, items, self.root, self.limit))

    def limit(self, test: str) -> float:
        """Seconds until a test is given up; the empty name stands for the time between two tests."""
        return self.limits.get(test, 120.0)

    def wait(self, watch: Watch) -> list[Ran]:
        """Wait a moment for events; return the jobs that are through."""
        through = []
        # A process that a test left running holds the pipe open, so its end alone says nothing: look again soon.
        select.select([worker.pipe for worker in self.live], [], [], 0.05)
        for worker in list(self.live):
            ended, over = worker.read(), worker.over()
            if over:
                ended += worker.end()
                self.live.remove(worker)
                processes.sweep([*self.spared, *(other.pid for other in self.live)])
            for test in ended:
                watch(worker.ran, test, worker.ran.cells[test])
            if over and self.restart(worker):
                self.start(worker.ran)
            elif over:
                through.append(worker.ran)
        return through

    def restart(self, worker: Worker) -> bool:
        """Whether the tests behind the one that was lost are worth another child; hanging ones soon are not."""
        cells = worker.ran.cells
        hung = sum(cell.kind == "timeout" for cell in cells.values())
        return worker.running != "" and len(cells) < len(worker.ran.job.tests) and hung < 2

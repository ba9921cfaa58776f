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
Known = Callable[[Job], dict[str, Cell]]


class Pool:
    """Runs jobs in forked children of this process.

    Attributes:
        items: the collected tests, by node id.
        root: folder of the project under test.
        workers: children at a time.
        known: tells the cells of a job that need not run; nobody watches them.
        spared: children that were there before, and are none of its business.
        memory: GiB that a child may hold, with all that its tests start.
        limits: seconds that a test may take; one that is not listed gets two minutes.
    """

    def __init__(self, items: Mapping[str, pytest.Item], root: Path, workers: int, known: Known) -> None:
        self.items, self.root, self.workers, self.known = items, root, workers, known
        self.limits: dict[str, float] = {}
        self.memory = 6.0
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
                    job = waiting.popleft()
                    ran = Ran(job, self.known(job))
                    if ran.left():
                        self.start(ran)
                    else:
                        waiting.extendleft(follow(ran))
                for ran in self.wait(watch):
                    waiting.extendleft(follow(ran))
        finally:
            for worker in self.live:
                worker.end()
            self.live.clear()
            processes.sweep(self.spared)

    def start(self, ran: Ran) -> None:
        """Fork a child for the tests of a job that have not run yet."""
        items = [self.items[test] for test in ran.left()]
        self.live.append(Worker(ran, items, self.root, self.limit, self.memory))

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
            if over and worker.running and worker.ran.left():
                # Behind the test that was lost, others are waiting.
                self.start(worker.ran)
            elif over:
                through.append(worker.ran)
        return through

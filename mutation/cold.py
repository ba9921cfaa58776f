"""`--cold`: each fault in a fresh process, which has it on before it imports and collects the suite.

That shows what a warm campaign cannot: a fault in code that runs while the suite is collected, and tests that vanish.
The fresh process plants the fault as any process does that a test starts, and forks a child for the tests in turn.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from faults._started import environment
from mutation.baseline import Baseline
from mutation.cells import Cell, Job, Ran
from mutation.plan import Plan
from mutation.pool import Follow, Pool, Watch

# Seconds that a test may wait in a fresh process for what a warm one has there already.
START = 60.0


class Fresh:
    """A fresh process at work on the tests of a job.

    Attributes:
        deadline: on the monotonic clock; the process itself sees to it that no test takes too long.
    """

    def __init__(self, job: Job, plan: Plan, seam: str, limits: Mapping[str, float]) -> None:
        self.ran = Ran(job)
        self.folder = Path(tempfile.mkdtemp(prefix="cold-"))
        limited = {test: limits[test] for test in job.tests}
        orders = {
            "paths": [*plan.suite, *filter(None, [plan.effects])],
            "tests": job.tests,
            "stop_at_kill": job.stop_at_kill,
            "seam": seam,
            "memory": plan.memory,
            "limits": limited,
        }
        (self.folder / "orders").write_text(json.dumps(orders))
        (self.folder / "hits").touch()
        self.deadline = time.monotonic() + 300 + sum(limited.values())
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mutation.cold_process", str(self.folder)],
                env={
                    **os.environ,
                    "TMPDIR": str(self.folder),
                    **environment(self.folder / "hits", f"{plan.catalogue}:{job.name}", [seam]),
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def over(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.process.poll() is not None or time.monotonic() > self.deadline

    def end(self) -> Ran:
        """End it, and book what it wrote: cells, and what happened to the tests that it did not run."""
        late = self.process.poll() is None
        if late:
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        told: dict[str, str] = {"harness": f"the fresh process {'hung' if late else f'ended with {status}'}"}
        collected = False
        cells = self.folder / "cells"
        for line in cells.read_text().splitlines() if cells.exists() else ():
            event = json.loads(line)
            kind = event.pop("event")
            collected = collected or kind == "collected"
            if kind == "cell":
                test = event.pop("test")
                self.ran.cells[test] = Cell(**event)
            elif kind == "done":
                told = event
        if not collected:
            kind = "timeout" if late else "uncollected"
            end = (self.folder / "log").read_text(errors="replace").strip()[-300:]
            self.ran.cells = {
                test: Cell(kind, f"{told['harness']} while it collected: {end}") for test in self.ran.job.tests
            }
            told = {}
        self.ran.stale, self.ran.harness = told.get("stale", ""), told.get("harness", "")
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.ran


class Cold:
    """Runs the jobs of faults in fresh processes, and the tests of their effects where they always run."""

    def __init__(self, pool: Pool, plan: Plan) -> None:
        self.pool, self.plan = pool, plan
        self.live: list[Fresh] = []

    def run(self, jobs: Iterable[Job], follow: Follow, watch: Watch) -> None:
        """Run jobs, and the jobs that `follow` asks for when one is through; `watch` sees each cell."""
        jobs = list(jobs)
        self.pool.run([job for job in jobs if job.part == "effect"], follow, watch)
        waiting = deque(job for job in jobs if job.part != "effect")
        try:
            while waiting or self.live:
                while waiting and len(self.live) < self.pool.workers:
                    job = waiting.popleft()
                    seam = self.plan.faults[job.name].seam
                    # Whatever test is the first to need ranks waits until their server has imported everything.
                    limits = {test: self.pool.limit(test) + START for test in job.tests}
                    self.live.append(Fresh(job, self.plan, seam, limits))
                time.sleep(0.05)
                for fresh in [fresh for fresh in self.live if fresh.over()]:
                    self.live.remove(fresh)
                    ran = fresh.end()
                    for test, cell in ran.cells.items():
                        watch(ran, test, cell)
                    waiting.extendleft(follow(ran))
        finally:
            for fresh in self.live:
                os.killpg(fresh.process.pid, signal.SIGKILL)
                fresh.process.wait()


def with_collection(green: Baseline, entered: Mapping[str, Iterable[str]]) -> Baseline:
    """Let every test of a file reach the seams that were called while the file was collected."""
    reach = dict(green.reach)
    for seam, files in entered.items():
        more = [test for test in green.seconds if test.partition("::")[0] in files]
        reach[seam] = tuple(sorted({*reach.get(seam, ()), *more}, key=green.seconds.__getitem__))
    return replace(green, reach=reach)

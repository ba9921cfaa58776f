"""A campaign from end to end: green, the faults on trial, green again."""

import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from mutation import baseline, processes
from mutation.case import Case, Verdict
from mutation.cells import Cell, Job, Ran
from mutation.journal import Journal
from mutation.plan import Plan
from mutation.pool import Pool
from mutation.screen import Screen
from mutation.status import Status
from mutation.suite import with_collected
from mutation.switches import missing


class Campaign:
    """The faults of a plan before the suite that a warm process has collected.

    Attributes:
        tests: node ids of the tests that must notice.
        effects: node ids of the tests that measure a fault's closed form, by its name.
    """

    def __init__(self, plan: Plan, session: pytest.Session, screen: Screen, journal: Journal) -> None:
        self.plan, self.screen, self.journal = plan, screen, journal
        self.began: dict[str, float] = {}
        self.tests, self.effects = sides(session, Path(plan.effects).resolve())
        self.pool = Pool({item.nodeid: item for item in session.items}, session.config.rootpath, plan.workers)
        self.verdicts: list[Verdict] = []
        processes.adopt_orphans()
        baseline.preload(failure_path())
        self.cases = {
            name: Case(name, fault, missing(fault), name in plan.equivalent) for name, fault in plan.faults.items()
        }
        self.seams = sorted({case.fault.seam for case in self.cases.values() if not case.stale})

    def try_all(self) -> list[Verdict]:
        """Every fault before all tests that reach it; the whole suite is green before and after."""
        self.stage("the suite without a fault, test by test", len(self.tests))
        green = baseline.measure(self.pool, self.tests, self.seams, self.watch)
        self.stage("faults", len(self.cases))
        self.limit(green)
        self.try_cases(green, hands=1)
        self.stage("the suite without a fault, again", len(self.tests))
        baseline.measure(self.pool, self.tests, (), self.watch)
        return self.close()

    def try_one(self) -> list[Verdict]:
        """Few faults, soon: tests are sought with one example each, and only those that noticed must be green in full.

        Every test runs from the same state of the same process, so it does not matter that they prove to be green only
        afterwards. When a fault is not killed that way, nothing is said of it before all tests have had their say.
        """
        self.stage("which tests enter the seam, with one example each", len(self.tests))
        scouted = baseline.measure(self.pool, self.tests, self.seams, self.watch, quick=True)
        self.stage("under the fault", len(self.cases))
        self.try_cases(scouted, hands=self.plan.workers)
        noticed = [killer for verdict in self.verdicts for killer in verdict.killers]
        if not {verdict.status for verdict in self.verdicts} <= {Status.KILLED, Status.STALE, Status.HARNESS}:
            self.verdicts.clear()
            return self.try_all()
        self.stage("the tests that noticed, without the fault", len(noticed))
        baseline.measure(self.pool, noticed, (), self.watch)
        return self.close()

    def try_cases(self, green: baseline.Baseline, hands: int) -> None:
        """Run the jobs of every fault, and decide each as soon as its jobs are through."""
        jobs: list[Job] = []
        for name, case in self.cases.items():
            tests = green.reach.get(case.fault.seam, ())
            wanted = case.jobs(tests, self.effects.get(name, ()), self.plan.first_kill, hands)
            jobs += wanted
            if not wanted:
                self.decide(case)
        self.pool.run(jobs, self.follow, self.watch)

    def follow(self, ran: Ran) -> Sequence[Job]:
        """Hand a job that is through to its case."""
        case = self.cases[ran.job.name]
        more = case.follow(ran)
        if not case.open:
            self.decide(case)
        return more

    def decide(self, case: Case) -> None:
        """Take the verdict of a case, and show it."""
        verdict = case.verdict()
        self.verdicts.append(verdict)
        self.screen.verdict(verdict)

    def watch(self, ran: Ran, test: str, cell: Cell) -> None:
        """Write and show a cell."""
        self.journal.cell(ran, test, cell)
        self.screen.cell(ran, test, cell)

    def limit(self, green: baseline.Baseline) -> None:
        """Give each test ten times what it takes without a fault."""
        self.pool.limits = {test: max(self.plan.patience, 10 * spent) for test, spent in green.seconds.items()}

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of so many tests or faults."""
        self.began[name] = time.monotonic()
        self.screen.stage(name, total)

    def close(self) -> list[Verdict]:
        """Write the summary."""
        ends = {**self.began, "": time.monotonic()}
        spent = {stage: ends[later] - ends[stage] for stage, later in pairwise(ends)}
        self.journal.summary(self.verdicts, self.plan.first_kill, spent, self.tests)
        return self.verdicts


def run(plan: Plan, screen: Screen, how: Callable[[Campaign], list[Verdict]]) -> list[Verdict]:
    """Run a campaign, in a process that has not imported any library that is under test.

    Args:
        how: `Campaign.try_all` or `Campaign.try_one`.

    Raises:
        RuntimeError: the run is void: the suite is not green, cannot be collected, or forking is unsafe.
    """
    journal = Journal(plan.out)
    paths = [*plan.suite, plan.effects]
    with (plan.out / "parent.log").open("w") as log, screen:
        return with_collected(paths, log, lambda session: how(Campaign(plan, session, screen, journal)))


def sides(session: pytest.Session, effects: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Part the collected tests: those that must notice, and by the fault's name those that measure its effect."""
    tests: list[str] = []
    by_fault: dict[str, list[str]] = {}
    for item in session.items:
        if item.path.is_relative_to(effects):
            by_fault.setdefault(item.nodeid.rpartition("[")[2].rstrip("]"), []).append(item.nodeid)
        else:
            tests.append(item.nodeid)
    return tests, by_fault


def failure_path() -> list[str]:
    """Modules that are only imported when a test fails, of the packages that the suite has imported."""
    modules = ["hypothesis.extra._patching", "_pytest._code.source", "difflib", "numpy.testing", "torch.testing"]
    return [name for name in modules if name.split(".")[0] in sys.modules]

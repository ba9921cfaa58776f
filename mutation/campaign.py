"""A campaign from end to end: green, the faults on trial, green again."""

import sys
import time
from collections.abc import Callable, Collection, Sequence
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
        self.screen.green(f"without a fault: {len(self.tests)} tests")
        self.stage("faults", len(self.cases))
        verdicts = self.try_cases(green, patience=10, hands=1, tell=self.screen.verdict)
        self.stage("the suite without a fault, again", len(self.tests))
        baseline.recheck(self.pool, self.tests, self.watch)
        self.screen.green(f"without a fault, again: {len(self.tests)} tests")
        return self.close(verdicts)

    def try_one(self) -> list[Verdict]:
        """Few faults, soon: tests are sought with one example each, and only those that noticed must be green in full.

        Every test runs from the same state of the same process, so it does not matter that they prove to be green only
        afterwards. When a fault is not killed that way, nothing is said of it before all tests have had their say.
        """
        self.stage("which tests enter the seam, with one example each", len(self.tests))
        scouted = baseline.measure(self.pool, self.tests, self.seams, self.watch, quick=True)
        self.screen.green(f"without the fault, one example each: {len(self.tests)} tests")
        self.stage("tests under the fault", len(self.cases))
        verdicts = self.try_cases(scouted, patience=100, hands=self.plan.workers, tell=lambda verdict: None)
        if not {verdict.status for verdict in verdicts} <= {Status.KILLED, Status.STALE, Status.HARNESS}:
            return self.try_all()
        for verdict in verdicts:
            self.screen.verdict(verdict)
        noticed = [killer for verdict in verdicts for killer in verdict.killers]
        self.stage("the tests that noticed, without the fault", len(noticed))
        baseline.recheck(self.pool, noticed, self.watch)
        self.screen.green(f"without the fault, in full: {len(noticed)} tests that noticed")
        return self.close(verdicts)

    def try_cases(
        self, green: baseline.Baseline, patience: float, hands: int, tell: Callable[[Verdict], None]
    ) -> list[Verdict]:
        """Run the jobs of every fault, and decide each as soon as its jobs are through.

        Args:
            patience: how many times what it takes without a fault a test may take.
            hands: jobs to which the tests of one fault are dealt.
            tell: hears each verdict as it falls.
        """
        jobs: list[Job] = []
        verdicts: list[Verdict] = []

        def decide(case: Case) -> None:
            verdicts.append(case.verdict())
            tell(verdicts[-1])

        def follow(ran: Ran) -> Sequence[Job]:
            case = self.cases[ran.job.name]
            more = case.follow(ran)
            if not case.open:
                decide(case)
            return more

        for name, case in self.cases.items():
            # The order decides how soon a kill is found, nothing else.
            tests = first_of(self.journal.killers.get(name, ()), green.reach.get(case.fault.seam, ()))
            wanted = case.jobs(tests, self.effects.get(name, ()), self.plan.first_kill, hands)
            jobs += wanted
            if not wanted:
                decide(case)
        self.pool.limits = {test: max(self.plan.patience, patience * spent) for test, spent in green.seconds.items()}
        self.pool.run(jobs, follow, self.watch)
        self.pool.limits = {}
        return verdicts

    def watch(self, ran: Ran, test: str, cell: Cell) -> None:
        """Write and show a cell."""
        self.journal.cell(ran, test, cell)
        self.screen.cell(ran, test, cell)

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of so many tests or faults."""
        self.began[name] = time.monotonic()
        self.screen.stage(name, total)

    def close(self, verdicts: list[Verdict]) -> list[Verdict]:
        """Write the summary."""
        ends = {**self.began, "": time.monotonic()}
        spent = {stage: ends[later] - ends[stage] for stage, later in pairwise(ends)}
        self.journal.summary(verdicts, self.plan.first_kill, spent, self.tests)
        return verdicts


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


def first_of(favoured: Collection[str], tests: Sequence[str]) -> list[str]:
    """Tests in their order, the favoured ones in front."""
    return sorted(tests, key=lambda test: test not in favoured)


def failure_path() -> list[str]:
    """Modules that are only imported when a test fails, of the packages that the suite has imported."""
    modules = ["hypothesis.extra._patching", "_pytest._code.source", "difflib", "numpy.testing", "torch.testing"]
    return [name for name in modules if name.split(".")[0] in sys.modules]

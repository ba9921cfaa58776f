"""A campaign from end to end: green, the faults on trial, green again."""

import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from mutation import baseline, processes
from mutation.audit import draw, refuse_reached
from mutation.case import Case, Verdict
from mutation.cells import Cell, Job, Ran
from mutation.cold import Cold, with_collection
from mutation.journal import Journal, refuse_full_disk
from mutation.memory import Memory
from mutation.order import file_by_file, first_of
from mutation.plan import Plan
from mutation.pool import Pool
from mutation.screen import Screen
from mutation.sources import Keys
from mutation.status import Effect, Status
from mutation.summary import summary
from mutation.switches import fault_on, missing, one_example

# What no further test can take back.
SETTLED = {Status.KILLED, Status.FLAKY, Status.STALE, Status.HARNESS}


class Campaign:
    """The faults of a plan before the suite that a warm process has collected.

    Attributes:
        tests: node ids of the tests that must notice.
        effects: node ids of the tests that measure a fault's closed form, by its name.
    """

    def __init__(self, plan: Plan, session: pytest.Session, screen: Screen, journal: Journal) -> None:
        self.plan, self.screen, self.journal = plan, screen, journal
        self.began: list[tuple[str, float]] = []
        self.audited = 0
        self.entered: Mapping[str, set[str]] = {}
        self.tests, self.effects = sides(session, Path(plan.effects).resolve() if plan.effects else None)
        self.imported = set(sys.modules)
        processes.adopt_orphans()
        baseline.preload(failure_path())
        self.cases = {
            name: Case(name, fault, f"{plan.catalogue}:{name}", missing(fault), name in plan.equivalent)
            for name, fault in plan.faults.items()
        }
        self.seams = sorted({case.fault.seam for case in self.cases.values() if not case.stale})
        self.memory = Memory(Keys(session, plan.faults), journal, self.seams, plan.cache and not plan.cold, plan.share)
        items = {item.nodeid: item for item in session.items}
        self.pool = Pool(items, session.config.rootpath, plan.workers, self.memory.known)
        self.pool.memory = plan.memory

    def try_all(self) -> list[Verdict]:
        """Every fault before the tests that reach it, in the way that the plan asks for."""
        # A fresh process has its own way to run tests.
        return self.try_until_killed() if self.plan.first_kill and not self.plan.cold else self.try_in_full()

    def try_in_full(self) -> list[Verdict]:
        """Every fault before all tests that reach it; the whole suite is green before and after.

        Tests that were green in an earlier campaign, and have not changed, count as green, unless they kill here.
        """
        green, fresh = self.green("full", self.tests)
        self.stage("faults", len(self.cases))
        verdicts = self.try_cases(self.cases, green, patience=10, hands=1, tell=self.screen.verdict)
        self.audit(green, "full", self.tests, self.cases)
        self.again(fresh | self.noticed(verdicts))
        return self.close(verdicts)

    def try_until_killed(self) -> list[Verdict]:
        """Every fault before the tests that reach it, up to the first that notices.

        One example of each test is enough to tell where it is worth trying. So every test that is put to use is green
        for one example before, and those that noticed are green in full afterwards. The tests that noticed a fault in
        an earlier campaign go first: where one still does, no other has to run. Of a fault that nothing has noticed by
        then nothing is said before all that reach it in full have had their say.
        """
        known = {test for name in self.cases for test in self.noticed_before(name)}
        rounds = [
            ("quick", [test for test in self.tests if test in known], "faults and what noticed them before"),
            ("quick", self.tests, "faults"),
            ("full", self.tests, "faults that seem to pass unseen"),
        ]
        settled: list[Verdict] = []
        left, fresh = self.cases, set[str]()
        for part, tests, stage in rounds:
            if left and tests:
                green, ran = self.green(part, tests)
                self.stage(stage, len(left))
                last = part == "full"
                tell, patience = (self.screen.verdict, 10) if last else (self.settle, 100)
                verdicts = self.try_cases(left, green, patience, hands=1, tell=tell)
                if last:
                    fresh = ran
                else:
                    self.audit(green, part, tests, left)
                settled += [verdict for verdict in verdicts if last or verdict.status in SETTLED]
                left = {name: case for name, case in left.items() if name not in {verdict.name for verdict in settled}}
        self.again(fresh | self.noticed(settled))
        return self.close(settled)

    def try_one(self) -> list[Verdict]:
        """Few faults, soon: no baseline goes before, and only the tests that noticed must be green, afterwards.

        Every test runs from the same state of the same process, so the order does not matter. Up to the first kill, all
        tests run under the fault, the first of each file first; for all kills, those of which one example enters it.
        When a fault is not killed that way, nothing is said of it before all tests have had their say.
        """
        if self.plan.first_kill:
            sought = baseline.Baseline({}, dict.fromkeys(self.seams, file_by_file(self.tests)))
        else:
            self.stage("which tests enter the seam, with one example each", len(self.tests))
            sought = baseline.measure(self.pool, self.tests, self.seams, self.watch, quick=self.tests)
            self.screen.green(f"without the fault, one example each: {len(self.tests)} tests")
        self.stage("tests under the fault", len(self.cases))
        hands = self.plan.workers
        verdicts = self.try_cases(self.cases, sought, patience=100, hands=hands, tell=lambda verdict: None)
        if not {verdict.status for verdict in verdicts} <= SETTLED:
            return self.try_in_full()
        for verdict in verdicts:
            self.screen.verdict(verdict)
        noticed = [killer for verdict in verdicts for killer in verdict.killers]
        self.stage("the tests that noticed, without the fault", len(noticed))
        baseline.recheck(self.pool, noticed, self.watch)
        self.screen.green(f"without the fault, in full: {len(noticed)} tests that noticed")
        return self.close(verdicts)

    def green(self, part: str, tests: Sequence[str]) -> tuple[baseline.Baseline, set[str]]:
        """Tests without a fault: "quick", with one example of each, or in "full".

        Returns:
            What they showed, and those that ran for it: the others are unchanged since they were green.
        """
        baseline.preload(self.memory.modules())
        full = self.memory.take_greens("full", tests)
        quick = [test for test in tests if test not in full] if part == "quick" else []
        self.memory.take_greens("quick", quick)
        fresh = {test for test in tests if not self.memory.has_green(test, part)}
        examples = ", one example each" if quick else ""
        what = "the suite" if len(tests) == len(self.tests) else "what noticed before,"
        self.stage(f"{what} without a fault, test by test{examples}", len(fresh))
        measured = baseline.measure(self.pool, tests, self.seams, self.watch, quick)
        old = len(tests) - len(fresh)
        self.screen.green(f"without a fault{examples}: {len(tests)} tests, {old} of them unchanged")
        return with_collection(measured, self.entered), fresh

    def noticed_before(self, name: str) -> set[str]:
        """The tests that noticed a fault in an earlier campaign."""
        return {*self.plan.killers.get(name, ()), *self.journal.killers.get(name, ())}

    def noticed(self, verdicts: Iterable[Verdict]) -> set[str]:
        """The tests that noticed a fault in this campaign."""
        found = {(verdict.name, "first", test) for verdict in verdicts for test in verdict.killers}
        return {test for _, _, test in found - self.memory.taken.keys()}

    def again(self, tests: Collection[str]) -> None:
        """Tests are still green without a fault, in full."""
        again = [test for test in self.tests if test in tests]
        self.stage("the suite without a fault, again", len(again))
        baseline.recheck(self.pool, again, self.watch)
        self.screen.green(f"without a fault, again: {len(again)} tests")

    def settle(self, verdict: Verdict) -> None:
        """Show a verdict that no further test can change."""
        if verdict.status in SETTLED:
            self.screen.verdict(verdict)

    def try_cases(
        self,
        cases: Mapping[str, Case],
        green: baseline.Baseline,
        patience: float,
        hands: int,
        tell: Callable[[Verdict], None],
    ) -> list[Verdict]:
        """Run the jobs of faults, and decide each as soon as its jobs are through.

        Args:
            patience: how many times what it takes without a fault a test may take.
            hands: jobs to which the tests of one fault are dealt.
            tell: hears each verdict as it falls.
        """
        jobs: list[Job] = []
        verdicts: list[Verdict] = []

        def decide(case: Case) -> None:
            verdict = case.verdict()
            verdicts.append(verdict if self.plan.effects else replace(verdict, effect=Effect.NOT_ASKED))
            tell(verdicts[-1])

        def follow(ran: Ran) -> Sequence[Job]:
            refuse_full_disk(ran.harness)
            case = cases[ran.job.name]
            more = case.follow(ran)
            if not case.open:
                decide(case)
            return more

        # The order decides how soon a kill is found, nothing else.
        tests = {name: green.reach.get(case.fault.seam, ()) for name, case in cases.items()}
        ordered = {
            name: first_of(self.plan.killers.get(name, ()), first_of(self.journal.killers.get(name, ()), found))
            for name, found in tests.items()
        }
        ordered = {name: first_of(self.memory.killing(name, found), found) for name, found in ordered.items()}
        self.memory.take_trials(ordered, self.effects, self.plan.first_kill)
        for name, case in cases.items():
            wanted = case.jobs(ordered[name], self.effects.get(name, ()), self.plan.first_kill, hands)
            jobs += wanted
            if not wanted:
                decide(case)
        self.pool.limits = {test: max(self.plan.patience, patience * spent) for test, spent in green.seconds.items()}
        runner = Cold(self.pool, self.plan) if self.plan.cold else self.pool
        runner.run(jobs, follow, self.watch)
        self.pool.limits = {}
        return verdicts

    def audit(self, green: baseline.Baseline, part: str, tests: Sequence[str], cases: Mapping[str, Case]) -> None:
        """Run some of the tests that a fault does not reach under it all the same, as its reach was measured.

        Raises:
            RuntimeError: one met the fault, so the reach map is wrong and the run void.
        """
        tried = {name: case for name, case in cases.items() if not case.stale}
        reach = {name: green.reach.get(case.fault.seam, ()) for name, case in tried.items()}
        drawn = draw(reach, tests, self.plan.audit, self.journal.plan["seed"])
        self.audited += sum(map(len, drawn.values()))
        self.stage("tests that should not meet the fault", sum(map(len, drawn.values())))

        def follow(ran: Ran) -> Sequence[Job]:
            refuse_reached(ran.job.name, tried[ran.job.name].fault.seam, ran.cells)
            return ()

        jobs = []
        for name, unreached in drawn.items():
            on = partial(fault_on, tried[name].fault, tried[name].place)
            once = partial(one_example, on, [self.pool.items[test] for test in unreached])
            jobs.append(Job(name, "audit", unreached, once if part == "quick" else on))
        self.pool.run(jobs, follow, self.watch)

    def watch(self, ran: Ran, test: str, cell: Cell) -> None:
        """Write, check and show a cell."""
        refuse_full_disk(cell.message)
        ident = (ran.job.name, ran.job.part, test)
        self.journal.cell(self.memory.row(ident, cell))
        self.memory.check(ident, cell)
        self.screen.cell(ran, test, cell)

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of so many tests or faults."""
        self.began.append((name, time.monotonic()))
        self.screen.stage(name, total)

    def close(self, verdicts: list[Verdict]) -> list[Verdict]:
        """Sum up, for the journal to write."""
        spent = dict.fromkeys((stage for stage, _ in self.began), 0.0)
        for (stage, began), (_, ended) in pairwise([*self.began, ("", time.monotonic())]):
            spent[stage] += ended - began
        told = summary(verdicts, self.plan.first_kill, spent, self.tests, self.memory.counts(), self.memory.verified())
        told |= {"audited": self.audited, "shard": self.plan.shard, "asked": sorted(self.plan.asked)}
        self.journal.result = (told, list(self.memory.taken.values()), set(sys.modules) - self.imported)
        return verdicts


def sides(session: pytest.Session, effects: Path | None) -> tuple[list[str], dict[str, list[str]]]:
    """Part the collected tests: those that must notice, and by the fault's name those that measure its effect."""
    tests: list[str] = []
    by_fault: dict[str, list[str]] = {}
    for item in session.items:
        if effects and item.path.is_relative_to(effects):
            by_fault.setdefault(item.nodeid.rpartition("[")[2].rstrip("]"), []).append(item.nodeid)
        else:
            tests.append(item.nodeid)
    return tests, by_fault


def failure_path() -> list[str]:
    """Modules that are only imported when a test fails, of the packages that the suite has imported."""
    modules = ["_pytest._code.source", "difflib", "numpy.testing", "torch.testing"]
    return [name for name in modules if name.split(".")[0] in sys.modules]

"""One fault on trial: which jobs its verdict needs, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from faults import Fault
from mutation.cells import Cell, Job, Ran
from mutation.status import Effect, Evidence, Status, accepted, effect_of, killers, kills, status_of
from mutation.switches import fault_on, nothing_on


@dataclass(frozen=True)
class Verdict:
    """What the campaign says of one fault.

    Attributes:
        killers: tests that noticed it twice.
        unconfirmed: tests that noticed it once only.
        effects: cells of its effect tests.
        cells: of the first run, by test.
        hits: calls of the seam under the fault.
        equivalent: declared not to be noticeable.
        note: what was missing, or what went wrong.
    """

    name: str
    fault: Fault
    status: Status
    killers: list[str]
    unconfirmed: list[str]
    effect: Effect
    effects: dict[str, Cell]
    cells: dict[str, Cell]
    hits: int
    equivalent: bool
    note: str

    def accepted(self) -> bool:
        """Whether the campaign may pass with it."""
        return accepted(self.status, self.effect, self.equivalent)


class Case:
    """A fault, and what its jobs brought back.

    Attributes:
        place: where a process that a test starts finds the fault, as "module:mapping:name".
        open: jobs that are not through.
        parts: what came back from the jobs of each part.
    """

    def __init__(self, name: str, fault: Fault, place: str, stale: str, equivalent: bool) -> None:
        self.name, self.fault, self.place, self.stale, self.equivalent = name, fault, place, stale, equivalent
        self.open = 0
        self.parts: dict[str, Ran] = {}

    def jobs(self, tests: Sequence[str], effects: Sequence[str], first_kill: bool, hands: int) -> list[Job]:
        """Ask for the tests that enter the seam, under the fault and dealt to some hands, and for its effect tests."""
        self.parts = {part: Ran(Job(self.name, part, (), nothing_on)) for part in ("first", "second", "effect")}
        on = partial(fault_on, self.fault, self.place)
        dealt = [tuple(tests[hand::hands]) for hand in range(hands)]
        wanted = [Job(self.name, "first", hand, on, stop_at_kill=first_kill) for hand in dealt]
        wanted.append(Job(self.name, "effect", tuple(effects), nothing_on))
        wanted = [] if self.stale else [job for job in wanted if job.tests]
        self.open = len(wanted)
        return wanted

    def follow(self, ran: Ran) -> list[Job]:
        """Take in a job that is through; ask for its killing tests once more, in a new process."""
        self.parts[ran.job.part].take(ran)
        again = kills(ran.kinds()) if ran.job.part == "first" else []
        more = [Job(self.name, "second", tuple(again), ran.job.switch)] if again else []
        self.open += len(more) - 1
        return more

    def verdict(self) -> Verdict:
        """Decide, once nothing is open."""
        first, second, effect = (self.parts[part] for part in ("first", "second", "effect"))
        stale = self.stale or first.stale
        harness = first.harness or second.harness
        evidence = Evidence(first.kinds(), second.kinds(), first.hits(), self.equivalent, stale, harness)
        firm = killers(evidence.first, evidence.second)
        return Verdict(
            name=self.name,
            fault=self.fault,
            status=status_of(evidence),
            killers=firm,
            unconfirmed=[test for test in kills(evidence.first) if test not in firm],
            effect=effect_of(effect.kinds()),
            effects=effect.cells,
            cells=first.cells,
            hits=first.hits(),
            equivalent=self.equivalent,
            note="\n".join(filter(None, [stale, harness or effect.harness, first.log or second.log or effect.log])),
        )

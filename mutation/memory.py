"""What a campaign need not run: what it ran before it was interrupted, and what earlier campaigns have shown."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from mutation import sources
from mutation.cache import Id, Row, as_cell, disagreement, remembered, sample
from mutation.cells import Cell, Job
from mutation.journal import Journal, as_row
from mutation.status import kills


class Memory:
    """Cells that are known, by fault, part and test.

    Attributes:
        held: by key and part, rows of earlier campaigns.
        taken: rows that this campaign takes from them.
        due: rows that it could take, and runs again to see whether they are true.
    """

    def __init__(self, keys: sources.Keys, journal: Journal, seams: Collection[str], cache: bool, share: float) -> None:
        self.keys, self.journal, self.seams, self.share = keys, journal, seams, share
        self.counted = sorted(sources.seam(seam)[:12] for seam in seams)
        self.held = remembered(run for run in journal.earlier if not run.plan.get("cold")) if cache else {}
        self.taken: dict[Id, Row] = {}
        self.due: dict[Id, Row] = {}
        self.before = {(row["fault"], row["part"], row["test"]): row for row in journal.resumed}

    def known(self, job: Job) -> dict[str, Cell]:
        """The cells of a job that need not run."""
        found = {}
        for test in job.tests:
            ident = (job.name, job.part, test)
            row = self.before.get(ident)
            if row is not None and self.holds(row, ident):
                self.journal.rows[ident] = row
                self.check(ident, as_cell(row))
            else:
                # What ran for this campaign before it had to ask for more need not run again.
                row = self.journal.rows.get(ident) or self.taken.get(ident)
            if row is not None:
                found[test] = as_cell(row)
        return found

    def holds(self, row: Row, ident: Id) -> bool:
        """Whether nothing that the row depends on has changed since."""
        return row["key"] == self.keys.of(*ident) and (ident[0] != "baseline" or {*self.counted} <= {*row["counted"]})

    def row(self, ident: Id, cell: Cell) -> dict:
        """A cell that has just run, as a line of the journal."""
        return as_row(ident, cell, self.keys.of(*ident), self.counted if ident[0] == "baseline" else ())

    def recall(self, ident: Id) -> Row | None:
        """What earlier campaigns say of a cell, when its key covers all that its test reads."""
        _, part, test = ident
        if not self.held or not self.keys.sealed(test):
            return None
        row = self.held.get(self.keys.of(*ident), {}).get(part)
        return row if row is not None and self.holds(row, ident) else None

    def take_greens(self, part: str, tests: Iterable[str]) -> set[str]:
        """Take tests that are green without a fault, in full or with one example each, but for a sample.

        Returns:
            All of which that is remembered, the sample included.
        """
        idents = {("baseline", part, test) for test in tests}
        self.take(idents)
        return {ident[2] for ident in idents if ident in self.taken or ident in self.due}

    def has_green(self, test: str, part: str) -> bool:
        """Whether it is taken that a test is green: in full, or where that is enough with one example."""
        return any(("baseline", taken, test) in self.taken for taken in {"full", part})

    def take_trials(
        self, tests: Mapping[str, Sequence[str]], effects: Mapping[str, Sequence[str]], first_kill: bool
    ) -> None:
        """Take cells of faults, but for a sample of the kills and a sample of the quiet ones.

        Args:
            tests: by fault, those that are on trial, in order.
            first_kill: one kill is enough, so nothing else is taken beside it.
        """
        noticed: set[Id] = set()
        quiet = {(fault, "effect", test) for fault in tests for test in effects.get(fault, ())}
        for fault, ordered in tests.items():
            killing = self.killing(fault, ordered)
            noticed |= {(fault, "first", test) for test in (killing[:1] if first_kill else killing)}
            if not (first_kill and killing):
                quiet |= {(fault, "first", test) for test in ordered if test not in killing}
        self.take(noticed)
        self.take(quiet)

    def killing(self, fault: str, tests: Iterable[str]) -> list[str]:
        """The tests that noticed a fault in earlier campaigns, in order."""
        rows = {test: self.recall((fault, "first", test)) for test in tests}
        noticed = kills({test: row["kind"] for test, row in rows.items() if row is not None})
        return [test for test in rows if test in noticed]

    def take(self, idents: Iterable[Id]) -> None:
        """Take what is remembered of cells, but for a sample."""
        rows = {ident: row for ident in idents if (row := self.recall(ident)) is not None}
        drawn = sample(rows, self.share, self.journal.plan["seed"])
        for ident, row in rows.items():
            (self.due if ident in drawn else self.taken)[ident] = row
            fault, part, test = ident
            again = self.held[row["key"]].get("second")
            if part == "first" and again is not None and ident not in drawn:
                self.taken[fault, "second", test] = again

    def check(self, ident: Id, cell: Cell) -> None:
        """Compare a cell that has run with what was remembered of it.

        Raises:
            RuntimeError: they differ.
        """
        row = self.due.get(ident)
        if row is not None:
            fault, part, test = ident
            told = disagreement(as_cell(row), cell, self.seams if fault == "baseline" else ())
            if told:
                raise RuntimeError(
                    f"the cache cannot be trusted, so the run is void: of {test} under {fault} ({part}) it {told}; "
                    "something that no key covers has changed, or the test is not deterministic: run with --no-cache"
                )

    def modules(self) -> Sequence[str]:
        """What the children of the last campaign imported, so that those of this one find it too."""
        complete = [run.modules for run in self.journal.earlier if run.end == "complete"]
        return complete[-1] if self.held and complete else ()

    def verified(self) -> dict[str, object]:
        """How many cells ran again to check the others, and which seed drew them."""
        return {"verified": len(self.due), "share": self.share, "seed": self.journal.plan["seed"]}

    def counts(self) -> Counter[str]:
        """How many cells were taken, by fault."""
        return Counter(fault for fault, _, _ in self.taken)

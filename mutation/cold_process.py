"""The fresh process of `--cold`: collect under the fault, run what is asked, and write down each cell."""

import json
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from faults._started import Tally
from mutation.cells import Cell, Counts, Job, Ran
from mutation.pool import Pool
from mutation.processes import adopt_orphans, die_with_parent
from mutation.suite import with_collected


class Collecting:
    """A pytest plugin that keeps, by file, why it could not be collected, and the calls of the seam meanwhile."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.reasons: dict[str, str] = {}
        self.hits: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """Let the fault's import hook come before pytest's own, which finds a package that brings a plugin itself."""
        for finder in [f for f in sys.meta_path if type(f).__name__ == "Planter"]:
            sys.meta_path.remove(finder)
            sys.meta_path.insert(0, finder)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, pytest.CollectReport, object]:
        before = calls(self.tally)
        report = yield
        self.hits[file_of(collector.nodeid)] += calls(self.tally) - before
        if report.failed:
            self.reasons[file_of(collector.nodeid)] = str(report.longrepr).strip()[-400:]
        return report


def main(folder: Path) -> None:
    """Carry out the orders in a folder."""
    orders = json.loads((folder / "orders").read_text())
    tally = Tally(str(folder / "hits"), {orders["seam"]: 0}, owner=0)
    seen = Collecting(tally)
    with (folder / "cells").open("a", buffering=1) as cells, (folder / "log").open("a") as log:

        def write(event: str, **content: Any) -> None:
            cells.write(json.dumps({"event": event, **content}, default=str) + "\n")

        def run(session: pytest.Session) -> None:
            write("collected")
            items = {item.nodeid: item for item in session.items}
            for test in orders["tests"]:
                if test not in items:
                    why = seen.reasons.get(file_of(test), "it has vanished")
                    write("cell", test=test, kind="uncollected", message=why)
            pool = Pool(items, session.config.rootpath, 1, lambda job: {})
            pool.limits, pool.memory = orders["limits"], orders["memory"]
            found = tuple(test for test in orders["tests"] if test in items)
            job = Job("cold", "first", found, lambda folder: reading(tally), orders["stop_at_kill"])

            def watch(ran: Ran, test: str, cell: Cell) -> None:
                # What was computed while its file was collected, the test has before it.
                hits = {orders["seam"]: sum(cell.hits.values()) + seen.hits[file_of(test)]}
                write("cell", test=test, **{**vars(cell), "hits": hits})

            def follow(ran: Ran) -> list[Job]:
                write("done", stale=ran.stale, harness=ran.harness)
                return []

            if found:
                pool.run([job], follow, watch)
            else:
                write("done")

        die_with_parent()
        adopt_orphans()
        with_collected(orders["paths"], log, run, [seen], complete=False)


def file_of(test: str) -> str:
    """The file of a node id."""
    return test.partition("::")[0]


def calls(tally: Tally) -> int:
    """Calls so far; what could not be planted is told when the first test begins."""
    with suppress(LookupError, RuntimeError):
        return sum(tally.total().values())
    return 0


@contextmanager
def reading(tally: Tally) -> Iterator[Counts]:
    """What this process has had planted from its start; only the calls are read."""
    yield tally.total


if __name__ == "__main__":
    main(Path(sys.argv[1]))

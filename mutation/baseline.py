"""The suite without a fault: it must be green, and it tells which test enters which seam."""

import contextlib
import importlib
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from mutation.cells import Job, Ran
from mutation.pool import Pool, Watch
from mutation.single_thread import use_one_thread
from mutation.switches import nothing_on, one_example, seams_counted


@dataclass(frozen=True)
class Baseline:
    """What a green suite showed.

    Attributes:
        seconds: of each test that passed.
        reach: by seam, the tests that enter it, quickest first.
    """

    seconds: dict[str, float]
    reach: dict[str, tuple[str, ...]]


def measure(
    pool: Pool, tests: Iterable[str], seams: Collection[str], watch: Watch, quick: Collection[str] = ()
) -> Baseline:
    """Run each test in a child of its own, with every seam counted.

    Alone, a test pays for the fixtures and fills the caches that it would otherwise find ready, so the count holds all
    that it depends on.

    Args:
        quick: tests that Hypothesis stops after their first example, so that they may miss a seam.

    Raises:
        RuntimeError: a test does not pass.
    """
    on = partial(seams_counted, seams)
    jobs = [
        Job("baseline", "quick", (test,), partial(one_example, on, [pool.items[test]]))
        if test in quick
        else Job("baseline", "full", (test,), on)
        for test in tests
    ]
    rans: list[Ran] = []

    def follow(ran: Ran) -> list[Job]:
        rans.append(ran)
        preload(ran.modules)
        return []

    pool.run(jobs, follow, watch)
    refuse_red(rans)
    seconds = {test: cell.seconds for ran in rans for test, cell in ran.cells.items() if cell.kind == "pass"}
    entered = {test: cell.hits for ran in rans for test, cell in ran.cells.items()}
    quickest_first = sorted(seconds, key=seconds.__getitem__)
    reach = {seam: tuple(test for test in quickest_first if seam in entered[test]) for seam in seams}
    return Baseline(seconds, reach)


def recheck(pool: Pool, tests: Sequence[str], watch: Watch) -> None:
    """Run tests again with nothing switched on, many in one child, as they run under a fault.

    Raises:
        RuntimeError: a test does not pass.
    """
    dealt = [tuple(tests[hand :: pool.workers]) for hand in range(pool.workers)]
    jobs = [Job("baseline", "again", hand, nothing_on) for hand in dealt if hand]
    rans: list[Ran] = []

    def follow(ran: Ran) -> list[Job]:
        rans.append(ran)
        return []

    pool.run(jobs, follow, watch)
    refuse_red(rans)


def refuse_red(rans: Iterable[Ran]) -> None:
    """Check that every test passed, or was skipped.

    Raises:
        RuntimeError: one did not, named with what it said.
    """
    red = []
    for ran in rans:
        red += [f"{test}: {cell.message or cell.kind}" for test, cell in ran.cells.items() if not green(cell.kind)]
        red += [f"{ran.job.tests[0]}: {ran.harness or ran.stale}"] if ran.harness or ran.stale else []
    if red:
        raise RuntimeError(
            f"{len(red)} tests are red without any fault, so the run is void:\n" + "\n".join(sorted(red))
        )


def green(kind: str) -> bool:
    """Whether a baseline may contain this kind of cell."""
    return kind in ("pass", "skipped")


def preload(modules: Iterable[str]) -> None:
    """Import what a child had to import, so that no later child pays for it again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in modules:
            # Some names in sys.modules were never importable; then there is nothing to save.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    use_one_thread()

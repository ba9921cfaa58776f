"""What a child has switched on around its tests: a fault, counters on every seam, or nothing."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from faults import Fault, counted, planted
from mutation.cells import Counts


@contextmanager
def fault_on(fault: Fault) -> Iterator[Counts]:
    """The fault, and the calls of its seam so far."""
    with planted(fault) as hits:
        yield lambda: {fault.seam: hits.count}


@contextmanager
def seams_counted(seams: Iterable[str]) -> Iterator[Counts]:
    """No fault, and the calls of every seam so far."""
    with counted(seams) as counts:
        yield lambda: counts


@contextmanager
def nothing_on() -> Iterator[Counts]:
    """Nothing: the tests plant the fault themselves."""
    yield dict


def missing(fault: Fault) -> str:
    """Say what is missing where the fault's seam was; empty when nothing is. Imports the library."""
    try:
        with counted([fault.seam]):
            return ""
    except LookupError as error:
        return str(error)

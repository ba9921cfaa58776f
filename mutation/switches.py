"""What a child has switched on around its tests: a fault, counters on its seams, or nothing."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import pytest

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
def one_example(seams: Iterable[str], test: pytest.Item) -> Iterator[Counts]:
    """As `seams_counted`, and a Hypothesis test stops after its first example."""
    hypothesis = sys.modules.get("hypothesis")
    function = getattr(test, "obj", None)
    if hypothesis is not None and hypothesis.is_hypothesis_test(function):
        # A test that says for itself how many it wants cannot be asked again.
        with suppress(hypothesis.errors.InvalidArgument):
            hypothesis.settings(max_examples=1)(getattr(function, "__func__", function))
    with seams_counted(seams) as counts:
        yield counts


@contextmanager
def nothing_on() -> Iterator[Counts]:
    """Nothing, or what a test switches on itself."""
    yield dict


def missing(fault: Fault) -> str:
    """Say what is missing where the fault's seam was; empty when nothing is. Imports the library."""
    try:
        with counted([fault.seam]):
            return ""
    except LookupError as error:
        return str(error)

"""What a child has switched on around its tests: a fault, counters on its seams, or nothing."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

from faults import Fault, counted
from faults._started import everywhere
from mutation.cells import Counts


@contextmanager
def fault_on(fault: Fault, place: str, folder: Path) -> Iterator[Counts]:
    """The fault, found at "module:mapping:name", and the calls of its seam so far, in all processes."""
    with everywhere([fault.seam], folder, fault, place) as counts:
        yield counts


@contextmanager
def seams_counted(seams: Collection[str], folder: Path) -> Iterator[Counts]:
    """No fault, and the calls of every seam so far, in all processes."""
    with everywhere([*seams], folder) as counts:
        yield counts


@contextmanager
def one_example(
    switch: Callable[[Path], AbstractContextManager[Counts]], tests: Iterable[pytest.Item], folder: Path
) -> Iterator[Counts]:
    """What `switch` switches on, and Hypothesis stops each of the tests after its first example."""
    hypothesis = sys.modules.get("hypothesis")
    for test in tests:
        function = getattr(test, "obj", None)
        if hypothesis is not None and hypothesis.is_hypothesis_test(function):
            # A test that says for itself how many it wants cannot be asked again.
            with suppress(hypothesis.errors.InvalidArgument):
                hypothesis.settings(max_examples=1)(getattr(function, "__func__", function))
    with switch(folder) as counts:
        yield counts


@contextmanager
def nothing_on(folder: Path) -> Iterator[Counts]:
    """Nothing, or what a test switches on itself."""
    yield dict


def missing(fault: Fault) -> str:
    """Say what is missing where the fault's seam was; empty when nothing is. Imports the library."""
    try:
        with counted([fault.seam]):
            return ""
    except LookupError as error:
        return str(error)

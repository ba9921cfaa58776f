"""One cell in the foreground: pytest as everybody knows it, with a fault switched on."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from faults import Fault
from faults._started import everywhere
from mutation.suite import set_environment


class UnderFault:
    """A pytest plugin that switches a fault on once everything is collected."""

    def __init__(self, fault: Fault, place: str) -> None:
        self.fault, self.place = fault, place
        self.hits = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        with (
            TemporaryDirectory() as folder,
            everywhere([self.fault.seam], Path(folder), self.fault, self.place) as calls,
        ):
            try:
                return (yield)
            finally:
                self.hits = sum(calls().values())


def explain(fault: Fault, place: str, tests: Sequence[str]) -> tuple[int, int]:
    """Run tests under a fault up to the first that fails, and let pytest print its full traceback.

    Args:
        place: where a process that a test starts finds the fault, as "module:mapping:name".

    Returns:
        The tests that failed (0 or 1), and the calls of the seam.

    Raises:
        ValueError: there is no such test.
    """
    set_environment()
    plugin = UnderFault(fault, place)
    failed = Failures()
    options = ["-x", "-q", "--tb=long", "-pno:cacheprovider", "-pno:xdist"]
    status = pytest.main([*options, *tests], plugins=[plugin, failed])
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise ValueError(f"pytest finds no test {' '.join(tests)}: give a node id or a path, as pytest prints it")
    return failed.count, plugin.hits


class Failures:
    """A pytest plugin that counts what failed."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.count += report.failed

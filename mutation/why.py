"""One cell in the foreground: pytest as everybody knows it, with a fault switched on."""

from collections.abc import Iterator, Sequence

import pytest

from faults import Fault, Hits, planted
from mutation.suite import set_environment


class UnderFault:
    """A pytest plugin that switches a fault on once everything is collected."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.hits = Hits()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        with planted(self.fault) as self.hits:
            return (yield)


def explain(fault: Fault, tests: Sequence[str]) -> tuple[int, int]:
    """Run tests under a fault up to the first that fails, and let pytest print its full traceback.

    Returns:
        The tests that failed (0 or 1), and the calls of the seam.
    """
    set_environment()
    plugin = UnderFault(fault)
    failed = Failures()
    pytest.main(["-x", "-q", "--tb=long", "-pno:cacheprovider", "-pno:xdist", *tests], plugins=[plugin, failed])
    return failed.count, plugin.hits.count


class Failures:
    """A pytest plugin that counts what failed."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.count += report.failed

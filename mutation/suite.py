"""The warm parent: import and collect the suite once, and never run a test of it."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TextIO, TypeVar

import pytest

from mutation.single_thread import use_one_thread

Result = TypeVar("Result")


class InsteadOfRunning(Generic[Result]):
    """A pytest plugin that hands the collected tests to a function where pytest would run them."""

    def __init__(self, call: Callable[[pytest.Session], Result], complete: bool) -> None:
        self.call, self.complete = call, complete
        self.broken: list[str] = []
        self.results: list[Result] = []
        self.error: BaseException | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not (self.broken and self.complete):
            try:
                self.results.append(self.call(session))
            except BaseException as error:
                # Kept from pytest, which would take it for a failure of a test.
                self.error = error
        return True


def refuse_missing(paths: Sequence[str]) -> None:
    """Raise for tests that are not there, before anything is written.

    Raises:
        ValueError: one of the paths does not exist.
    """
    files = [path.partition("::")[0] for path in paths]
    missing = [file for file in files if not Path(file).exists()]
    if missing:
        raise ValueError(
            f"{Path.cwd()} holds no {missing[0]}: change to the top of a checkout of Weighbridge, whose suite this runs"
        )


def with_collected(
    paths: Sequence[str],
    log: TextIO,
    call: Callable[[pytest.Session], Result],
    plugins: Sequence[object] = (),
    complete: bool = True,
) -> Result:
    """Collect the tests below some paths and call a function with the session.

    Args:
        log: gets all that is printed meanwhile, by pytest and by what it imports.
        plugins: of pytest, that watch the collection.
        complete: refuse a suite of which a part cannot be collected.

    Raises:
        RuntimeError: the suite cannot be collected.
    """
    set_environment()
    plugin = InsteadOfRunning(call, complete)
    off = [
        f"-pno:{name}" for name in ("cacheprovider", "xdist", "faulthandler", "unraisableexception", "threadexception")
    ]
    # Nobody reads the traceback, and to find the source of each of its lines takes a tenth of a second and more.
    how = ["-s", "-q", "--tb=native", "-m", "not gpu and not slow"]
    with printed_to(log):
        # The session of pytest lives as long as this call.
        pytest.main([*how, *off, *paths], plugins=[plugin, *plugins])
    if plugin.error is not None:
        raise plugin.error
    if not plugin.results:
        raise RuntimeError(f"the suite could not be collected ({plugin.broken or list(paths)}): the run is void")
    return plugin.results[0]


def set_environment() -> None:
    """Choose one thread, and the Hypothesis profile whose examples are the same in every run."""
    os.environ["HYPOTHESIS_PROFILE"] = "mutation"
    use_one_thread()


@contextlib.contextmanager
def printed_to(log: TextIO) -> Iterator[None]:
    """Send the standard output and the standard error of this process, of C code too, to a file."""
    kept = os.dup(1), os.dup(2)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        os.close(kept[0])
        os.close(kept[1])

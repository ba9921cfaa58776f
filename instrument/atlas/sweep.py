"""Every architecture in a process of its own, so that none can take the sweep down."""

import gc
import multiprocessing
import os
import resource
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from .build import Subject
from .cell import NO_READING, Cell, Result
from .checks import all_checks
from .heads import CAUSAL


def sweep(
    names: Sequence[str], head: str = CAUSAL, workers: int = 2, seconds: float = 120, gigabytes: float = 6
) -> Iterator[Result]:
    """Measure architectures, in the order in which they are done.

    Args:
        names: of the architectures.
        head: which of their models.
        workers: processes at once.
        seconds: an architecture that takes longer is stopped, and keeps what it had measured.
        gigabytes: memory that one may take on top of what the libraries take.
    """
    waiting, running = list(names), dict[Connection, Running]()
    # accelerate collects garbage at the end of each run; what the imports made need not be looked at again, or copied.
    gc.freeze()
    context: Any = multiprocessing.get_context(start_method())
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                started = Running(context, waiting.pop(0), head, seconds, gigabytes)
                running[started.inbox] = started
            wait(list(running), timeout=1)
            for inbox, one in list(running.items()):
                if one.finished():
                    del running[inbox]
                    yield one.result
    finally:
        for one in running.values():
            one.stop()


def start_method() -> str:
    """Fork from this process, which has the libraries loaded, where that is safe: on Linux and without threads."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            # One that drew a spinner has been told to end.
            thread.join(timeout=1)
    return "fork" if os.uname().sysname == "Linux" and threading.active_count() == 1 else "spawn"


class Running:
    """One architecture under way."""

    def __init__(self, context: Any, name: str, head: str, seconds: float, gigabytes: float) -> None:
        self.result = Result(name)
        self._head = head
        self.inbox, outbox = context.Pipe(duplex=False)
        self._process = context.Process(target=measure, args=(name, head, outbox, gigabytes), daemon=True)
        self._process.start()
        outbox.close()
        self._seconds, self._end, self._at = seconds, time.monotonic() + seconds, "building"

    def finished(self) -> bool:
        """Take in what has come; whether this architecture is done, or was stopped."""
        try:
            while self.inbox.poll():
                self._take(*self.inbox.recv())
        except EOFError:
            self._process.join()
            if self._process.exitcode:
                self._end_early(f"the process ended with exit code {self._process.exitcode}")
            return True
        if time.monotonic() > self._end:
            self.stop()
            self._end_early(f"stopped after {self._seconds:g} s")
            return True
        return False

    def stop(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()

    def _take(self, what: str, value: Any) -> None:
        if what == "starts":
            self._at = value
        elif what == "cell":
            self.result.cells[self._at] = value
        else:
            setattr(self.result, what, value)

    def _end_early(self, why: str) -> None:
        if self._at == "building":
            self.result.reason = why
            return
        for check in all_checks(self._head):
            said = f"{why}, in the check {self._at!r}"
            self.result.cells.setdefault(check.name, Cell(NO_READING, None, said))


def measure(name: str, head: str, outbox: Connection, gigabytes: float) -> None:
    """In the process of one architecture: build it, go through the checks, tell what was found as it comes."""
    warnings.simplefilter("ignore")
    silence()
    bound_memory(gigabytes)
    try:
        subject = Subject(name, head)
    except Exception as error:
        outbox.send(("reason", in_a_line(error)))
        return
    outbox.send(("model", subject.kind))
    outbox.send(("parameters", sum(p.numel() for p in subject.model().parameters())))
    outbox.send(("config", subject.config_arguments))
    outbox.send(("tails", {check.name: check.tail(subject) for check in all_checks(head)}))
    for check in all_checks(head):
        outbox.send(("starts", check.name))
        try:
            cell = check.run(subject)
        # Whatever an architecture does wrong is the answer.
        except Exception as error:
            cell = Cell(NO_READING, None, in_a_line(error))
        outbox.send(("cell", cell))
    outbox.send(("seconds", time.process_time()))


def in_a_line(error: BaseException, longest: int = 300) -> str:
    """Type and text of an error."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= longest else f"{text[:longest]} ..."


def silence() -> None:
    """Send what the libraries print nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def bound_memory(gigabytes: float) -> None:
    """Let an allocation fail that goes so far above what is taken now."""
    with open("/proc/self/statm") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    limit = taken + int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

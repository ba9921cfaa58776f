"""One forked child, seen from the parent: start it, read its events, end it."""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mutation import child, processes
from mutation.cells import Cell, Ran
from mutation.limits import Watch
from mutation.single_thread import refuse_threads


class Worker:
    """A child at work on the tests of a job that have not run yet.

    Attributes:
        running: the test that has started and not ended.
        deadline: of the running test, or of the time between two tests; on the monotonic clock.
        last_words: what unwound the child in the middle of a test.
        done: the child has said that it is through.
        excess: the limit that it has exceeded, in words.
    """

    def __init__(
        self, ran: Ran, items: Sequence[pytest.Item], root: Path, limit: Callable[[str], float], memory: float
    ) -> None:
        refuse_threads()
        self.ran, self.limit = ran, limit
        self.running, self.last_words, self.done, self.buffer = "", "", False, b""
        self.deadline = time.monotonic() + limit("")
        self.scratch = Path(tempfile.mkdtemp(prefix="planted-"))
        self.pipe, far_end = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            child.serve(ran.job, items, far_end, self.scratch, root)
        self.excess, self.machine = "", Watch(self.pid, self.scratch, memory)
        os.close(far_end)
        os.set_blocking(self.pipe, False)

    def read(self) -> list[str]:
        """Take in what the child has written.

        Returns:
            The tests that have ended since the last call.
        """
        ended = []
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.pipe, 1 << 16):
                self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            test = self.take(json.loads(line))
            if test:
                ended.append(test)
        return ended

    def take(self, event: dict) -> str:
        """Book one event; name the test that it ends, if it ends one."""
        kind, test = event.pop("event"), event.pop("test", "")
        if kind == "start":
            self.running, self.deadline = test, time.monotonic() + self.limit(test)
        elif kind == "end":
            self.ran.cells[test] = Cell(**event)
            self.running, self.deadline = "", time.monotonic() + self.limit("")
            return test
        elif kind == "done":
            self.done = True
            self.ran.modules.update(event["modules"])
        elif kind == "stale":
            self.ran.stale = event["message"]
        elif self.running:
            self.last_words = event["message"]
        else:
            self.ran.harness = event["message"]
        return ""

    def over(self) -> bool:
        """Whether there is nothing more to wait for."""
        if self.done or time.monotonic() > self.deadline or processes.has_ended(self.pid):
            return True
        self.excess = self.machine.excess()
        return self.excess != ""

    def end(self) -> list[str]:
        """Kill the child with all that it started, and charge what it leaves unfinished.

        Returns:
            The tests that have ended since the last call of `read`, the one that crashed or hung included.
        """
        late = not self.done and not self.excess and not processes.has_ended(self.pid)
        status = processes.end(self.pid)
        ended = self.read()
        os.close(self.pipe)
        test = self.running
        if test:
            message = (
                f"still running after {self.limit(test):.0f} s"
                if late
                else self.excess or self.last_words or f"the process ended with {status}"
            )
            self.ran.cells[test] = Cell("timeout" if late else "crash", message)
        elif not self.done and not self.ran.harness:
            what = "hung" if late else self.excess or f"ended with {status}"
            self.ran.harness = f"the child {what} outside of any test"
        if test or self.ran.harness:
            with contextlib.suppress(OSError):
                self.ran.log = (self.scratch / "log").read_text(errors="replace")[-2000:]
        shutil.rmtree(self.scratch, ignore_errors=True)
        return [*ended, test] if test else ended

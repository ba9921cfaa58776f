"""Inside a forked child: run collected tests under one switch, and tell the parent of each."""

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from mutation.cells import Job
from mutation.processes import adopt_orphans, die_with_parent
from mutation.raised import describe, kind_of
from mutation.single_thread import use_one_thread


class Recorder:
    """A pytest plugin that keeps how the running test fared."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.begin()

    def begin(self) -> None:
        """Forget the test before."""
        self.kind, self.message = "pass", ""
        self.properties: dict[str, object] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
        report = yield
        self.properties = dict(item.user_properties)
        if report.skipped and self.kind == "pass":
            self.kind = "skipped"
        # What a test's body said stands, whatever its teardown then stumbles over.
        if report.failed and self.kind in ("pass", "skipped"):
            self.kind, self.message = "error", f"{report.when}: {report.longrepr}"[:500]
            if call.excinfo is not None:
                error = call.excinfo.value
                self.message = f"{report.when}: {type(error).__name__}: {error}"[:500]
                if report.when == "call":
                    self.kind = kind_of(describe(error, self.root))
        return report


def serve(job: Job, items: Sequence[pytest.Item], pipe: int, scratch: Path, root: Path) -> NoReturn:
    """Run the items of a job, stream one JSON line per event into the pipe, and leave without unwinding."""

    def send(**event: object) -> None:
        os.write(pipe, (json.dumps(event, default=str) + "\n").encode())

    status = 0
    try:
        imported = set(sys.modules)
        settle(scratch)
        run(job, items, send, scratch, root)
        send(event="done", modules=sorted(set(sys.modules) - imported))
    except BaseException as error:
        status = 70
        with contextlib.suppress(OSError):
            send(event="harness", message=f"{type(error).__name__}: {error}"[:500])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def settle(scratch: Path) -> None:
    """Give the child a session, a folder, temporary files and output of its own."""
    os.setsid()
    die_with_parent()
    adopt_orphans()
    use_one_thread()
    log = os.open(scratch / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(scratch)
    # A spawned process imports its parent's main module again, and that must not be the campaign.
    sys.modules["__main__"] = ModuleType("__main__")
    # pytest asks for it with its first temporary folder, and the parent has never made one.
    os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)


def run(job: Job, items: Sequence[pytest.Item], send: Any, scratch: Path, root: Path) -> None:
    """Run the items under the job's switch, each through the hooks that a plain pytest run calls."""
    recorder, plugins = Recorder(root), items[0].config.pluginmanager
    plugins.register(recorder, "weighbridge-recorder")
    # Without one, Hypothesis makes no patch of the examples that fail.
    plugins.unregister(name="terminalreporter")
    with contextlib.ExitStack() as stack:
        try:
            counts = stack.enter_context(job.switch(scratch))
            now = dict(counts())
        except LookupError as error:
            send(event="stale", message=str(error))
            return
        for item, following in zip(items, [*items[1:], None], strict=True):
            send(event="start", test=item.nodeid)
            recorder.begin()
            before, began = now, time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            stale = ""
            try:
                now = dict(counts())
            except LookupError as error:
                stale = str(error)
            send(
                event="end",
                test=item.nodeid,
                kind=recorder.kind,
                message=recorder.message,
                seconds=round(time.perf_counter() - began, 4),
                hits=gained(before, now),
                properties=recorder.properties,
            )
            if stale:
                send(event="stale", message=stale)
                return
            if job.stop_at_kill and recorder.kind in ("assert", "refusal"):
                return


def gained(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Calls of each seam that was entered in between."""
    return {seam: count - before.get(seam, 0) for seam, count in after.items() if count > before.get(seam, 0)}

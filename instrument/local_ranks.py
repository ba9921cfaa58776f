"""Ranks of one process group on this machine, kept for many jobs: each of them costs as much as what it runs.

A rank that raises, dies or hangs is an error with its traceback in the process that asked, and every rank is killed.
"""

import contextlib
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from . import local_rank


class Rank(NamedTuple):
    """One rank, seen from the process that started it."""

    process: Any
    pipe: Connection


class LocalRanks:
    """Processes on the CPU, each a rank of one gloo process group.

        with LocalRanks(2) as ranks:
            first, second = ranks.run(job, argument)

    Every rank calls `job(argument)`, which must be a function that can be imported. They are started at the first
    call, and anew after a failure. They come from a server that has imported torch and transformers, so that only the
    first start in a process takes seconds; what is put into the environment after that does not reach them.

    Args:
        ranks: how many.
        seconds: how long a job may take.
        start: "forkserver", or "fork" where the process that asks has one thread and has never run autograd: its ranks
            find all that it has imported, and take no seconds.
    """

    def __init__(self, ranks: int = 2, seconds: float = 60.0, start: str = "forkserver") -> None:
        if ranks < 1 or not seconds > 0:
            raise ValueError(f"ranks={ranks} and seconds={seconds}: start one rank at least, and give it some time")
        self.ranks, self.seconds, self.start = ranks, seconds, start
        self._alive: list[Rank] = []
        self._folder = ""

    def __enter__(self) -> "LocalRanks":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, job: Callable[..., Any], *args: Any) -> list[Any]:
        """Call job(*args) on every rank.

        Returns:
            [r] what each rank's call returned.

        Raises:
            RuntimeError: a rank raised, died, or was not through in time; all of them are gone then.
        """
        # Each job runs in the folder of the process that asks, as it would under a launcher.
        order = pickle.dumps((os.getcwd(), pickle.dumps((job, args))))
        if not self._alive:
            self._start()
        try:
            for rank in self._alive:
                # What has died since the last job is told from by `_answers`.
                with contextlib.suppress(BrokenPipeError):
                    rank.pipe.send_bytes(order)
            return self._answers(time.monotonic() + self.seconds)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kill every rank, with all that it started, and remove their files."""
        for rank in self._alive:
            # A rank leads a process group, unless it has not come so far.
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError):
                    kill(rank.process.pid, signal.SIGKILL)
        for rank in self._alive:
            rank.process.join()
            rank.pipe.close()
        self._alive.clear()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def _start(self) -> None:
        context: Any = multiprocessing.get_context(self.start)
        # Libraries alone: of this package, the server might find another copy than the one that runs here.
        context.set_forkserver_preload(["torch.distributed", "transformers.trainer", "transformers.models.llama"])
        self._folder = tempfile.mkdtemp(prefix="ranks-")
        for number in range(self.ranks):
            here, there = context.Pipe()
            process = context.Process(
                target=local_rank.serve, args=(there, number, self.ranks, self._folder, self.seconds), daemon=True
            )
            process.start()
            there.close()
            self._alive.append(Rank(process, here))

    def _answers(self, until: float) -> list[Any]:
        answers: dict[int, Any] = {}
        told: dict[int, str] = {}
        good: bool
        answer: Any
        while len(answers) + len(told) < self.ranks:
            open_ = [r for r in range(self.ranks) if r not in answers and r not in told]
            pipes = {self._alive[r].pipe: r for r in open_}
            ready = wait(list(pipes), max(0.0, until - time.monotonic()))
            if not ready:
                told.update({r: self._stack(r) for r in open_})
                break
            for pipe in ready:
                assert isinstance(pipe, Connection)
                number = pipes[pipe]
                try:
                    good, answer = pipe.recv()
                except (EOFError, ConnectionResetError):
                    self._alive[number].process.join(5)
                    good, answer = False, f"died, exit code {self._alive[number].process.exitcode}"
                if good:
                    answers[number] = answer
                else:
                    told[number] = answer
                    # The others may wait for this one, for ever.
                    until = min(until, time.monotonic() + 1)
        if told:
            raise RuntimeError(
                f"{len(told)} of {self.ranks} ranks failed:\n"
                + "\n".join(f"rank {number}: {text}" for number, text in sorted(told.items()))
            )
        return [answers[number] for number in range(self.ranks)]

    def _stack(self, number: int) -> str:
        """Where a rank that does not answer is at work."""
        file = Path(self._folder) / f"stack-{number}"
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._alive[number].process.pid, signal.SIGUSR1)
        for _ in range(20):
            if file.exists() and "File" in (text := file.read_text()):
                return f"not through in time, at work here:\n{text}"
            time.sleep(0.05)
        return "not through in time, and did not tell where it is at work"

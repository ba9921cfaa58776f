"""Programs that run beside each other: each with a limit, and all that it starts ends with it."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence


class Failed(RuntimeError):
    """A program ended by itself, with a status that is not 0."""


class Programs:
    """The programs that run now; `end_all` ends them and lets no other start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._over = False

    def run(self, command: Sequence[str], seconds: float, env: Mapping[str, str] | None = None) -> str:
        """What a program wrote to its standard error.

        Raises:
            Failed: it ended with a status that is not 0; its last word.
            RuntimeError: it was late, or a signal ended it.
            OSError: it could not be started.
        """
        # Into a file: a pipe would stay open as long as anything that the program left behind.
        with tempfile.TemporaryFile() as words:
            process = self._started(command, words, env)
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise RuntimeError(f"not done after {seconds:g} s") from None
            finally:
                end(process)
                process.wait()
                with self._lock:
                    self._running.discard(process)
            words.seek(0)
            said = words.read().decode(errors="replace")
        if status < 0:
            raise RuntimeError(f"ended by {signal.Signals(-status).name}")
        if status:
            raise Failed(last_word(said, status))
        return said

    def end_all(self) -> None:
        """End all programs, and refuse any that would be started later."""
        with self._lock:
            self._over = True
            for process in self._running:
                end(process)

    def _started(self, command: Sequence[str], words: object, env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._over:
                raise RuntimeError("interrupted")
            process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=words,
                env=env,
                start_new_session=True,  # type: ignore[call-overload]
            )
            self._running.add(process)
            return process


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def last_word(said: str, status: int) -> str:
    """The line that tells most of why a program failed: pip's first error, or the last line."""
    lines = said.strip().splitlines() or [f"exit status {status}"]
    return next((line for line in lines if line.startswith("ERROR")), lines[-1])

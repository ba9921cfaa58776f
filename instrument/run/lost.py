"""Says that there is no verdict where the script's process is ended from outside, so that nothing in it can say so.

A process beside it waits for its end, twice forked: it is no child of the script's, and holds nothing of it but the
standard error.
"""

import os
import select
import signal
import sys
import threading


class Watchman:
    """While entered, a process that speaks when this one is gone.

    Args:
        wanted: start it; ranks but the first have none to speak.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._pid = self._of = 0

    def __enter__(self) -> "Watchman":
        # Forked before anything has threads; where that is too late, as in a test of this command, nobody watches.
        if self._wanted and hasattr(os, "pidfd_open") and threading.active_count() == 1 and "torch" not in sys.modules:
            self._of = os.getpid()
            self._pid = started(self._of)
        return self

    def __exit__(self, *_: object) -> None:
        self.dismiss()

    def dismiss(self) -> None:
        """The report is out, or about to be."""
        # What the script forked may come through here too.
        if self._pid and os.getpid() == self._of:
            try:
                os.kill(self._pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._pid = 0


def started(watched: int) -> int:
    """Start the process that waits for another; its own number."""
    sys.stderr.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        watchman = os.fork()
        if watchman:
            os.write(theirs, watchman.to_bytes(8, "big"))
        else:
            os.close(ours)
            os.close(theirs)
            wait_and_say(watched)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(theirs)
    number = int.from_bytes(os.read(ours, 8), "big")
    os.close(ours)
    return number


def wait_and_say(watched: int) -> None:
    """Wait for the end of a process, and say it on the standard error."""
    # Of a session of its own, so that what ends the script's group leaves it.
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    try:
        descriptor = os.pidfd_open(watched)
        select.select([descriptor], [], [])
    except OSError:
        # It is gone already.
        pass
    os.write(
        2,
        b"weighbridge: NO VERDICT: the script's process was killed by a signal, or replaced, before it came to its "
        b"end: nothing is told of what was recorded\n",
    )

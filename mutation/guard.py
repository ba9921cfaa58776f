"""Nothing stays behind, however a campaign ends: a second process waits for the end of the first, and clears up."""

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from mutation.processes import die_with_parent


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Give this process a folder for all temporary files.

    When the block ends, or the process is killed in it, all processes that work in the folder are killed and it is
    removed. When both processes are killed, or the power fails, the next campaign removes it.
    """
    kept, above = tempfile.tempdir, Path(tempfile.gettempdir())
    remove_abandoned(above)
    folder = Path(tempfile.mkdtemp(prefix="campaign-", dir=above))
    # Locked before it gets the name by which others look for it.
    lock = (folder / "new").open("w")
    fcntl.lockf(lock, fcntl.LOCK_EX)
    (folder / "new").rename(folder / "owner")
    tempfile.tempdir = str(folder)
    parent = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    guard = os.fork()
    if guard == 0:
        os.setsid()
        # Nothing of it may look as if it worked in the folder of a campaign that runs around this one.
        os.chdir("/")
        for number in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        die_with_parent(signal.SIGUSR1)
        if os.getppid() == parent:
            signal.sigwait([signal.SIGUSR1])
        clear(folder)
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    try:
        yield
    finally:
        tempfile.tempdir = kept
        os.kill(guard, signal.SIGUSR1)
        os.waitpid(guard, 0)
        lock.close()


def clear(folder: Path) -> None:
    """Kill the processes that work in a folder, and remove it."""
    while left := at_work(folder):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)


def at_work(folder: Path) -> list[int]:
    """Find the processes that stand in a folder, print into it or have it in the environment they were started with."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # Gone, or somebody else's.
        with contextlib.suppress(OSError):
            places = [os.readlink(process / name) for name in ("cwd", "fd/1", "fd/2")]
            given = (process / "environ").read_bytes().decode(errors="replace")
            if any(str(folder) in place for place in (*places, given)):
                found.append(int(process.name))
    return found


def remove_abandoned(above: Path) -> None:
    """Remove the folders of campaigns that have ended without their guards."""
    for owner in above.glob("campaign-*/owner"):
        with contextlib.suppress(OSError), owner.open("r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            clear(owner.parent)

"""Runs mutmut as a process of its own, and leaves none of its children behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mutation import processes, raised
from mutation.source.tree import Tree


def drive(tree: Tree, patterns: Sequence[str], matrix: bool, workers: int, told: Callable[[str], None]) -> None:
    """Make the mutants that are missing and run those that have no verdict, or those that match the patterns.

    Args:
        told: gets mutmut's last line, a few times a second.

    Raises:
        RuntimeError: mutmut did not come to its end: tests fail without any mutant, or call nothing that is mutated.
    """
    log = tree.folder / "mutmut.log"
    # As `python -m mutmut`, mutmut would run twice, under two names.
    command = [sys.executable, "-c", "from mutmut.__main__ import cli; cli()", "run", "--max-children", str(workers)]
    processes.adopt_orphans()
    with log.open("w") as output:
        child = subprocess.Popen(
            [*command, *patterns],
            cwd=tree.project,
            env=environment(tree, matrix),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=processes.die_with_parent,
        )
        try:
            while child.poll() is None:
                told(last_line(log))
                time.sleep(0.3)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            processes.sweep(())
    if child.returncode != 0:
        end = "\n".join(log.read_text(errors="replace").replace("\r", "\n").splitlines()[-40:])
        raise RuntimeError(f"mutmut ended with status {child.returncode}: the run is void; it said:\n{end}")


def environment(tree: Tree, matrix: bool) -> dict[str, str]:
    """One thread, examples that are the same in every run, and the kill log."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    kept = {name: value for name, value in os.environ.items() if name not in ("KILL_LOG_MATRIX", "PYTEST_ADDOPTS")}
    return {
        **kept,
        **one,
        "TOKENIZERS_PARALLELISM": "false",
        "HYPOTHESIS_PROFILE": "mutation",
        "PYTEST_PLUGINS": "mutation.source.kill_log",
        "KILL_LOG": str(tree.log.resolve()),
        "KILL_LOG_RULES": str(Path(raised.__file__).resolve()),
        **({"KILL_LOG_MATRIX": "1"} if matrix else {}),
    }


def last_line(log: Path) -> str:
    """What was written last, of a file in which a line is overwritten by the next."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 400))
        lines = file.read().decode(errors="replace").replace("\r", "\n").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "starting")

"""Faults with a known verdict on trial beside the others: a campaign that misjudges one of them judges nothing."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mutation.processes import die_with_parent

# Files of `sentinels/`, by the name that they need to be found by pytest, and must not have to be found here.
NAMES = {
    "suite.py": "test_toy.py",
    "collected.py": "test_collected.py",
    "effects.py": "test_effects.py",
    "profile.py": "conftest.py",
}

WARM = {
    "wrong": "killed",
    "harmless": "survived",
    "excused": "equivalent",
    "unreached": "not reached",
    "raises": "error only",
    "segfaults": "crash only",
    "exits": "crash only",
    "hangs": "timeout only",
    "once": "flaky",
    "moved": "stale",
    "unplantable": "harness",
    "tabulated": "not reached",
}
COLD = {"tabulated": "killed", "vanishing": "uncollected only"}


@contextlib.contextmanager
def sentinels_beside() -> Iterator[None]:
    """Run the block while the sentinels are on trial in processes of their own, and compare at its end.

    Raises:
        RuntimeError: a sentinel is misjudged, so the run is void.
    """
    folder = Path(tempfile.mkdtemp(prefix="sentinels-"))
    runs = []
    try:
        runs = [(start(folder / "warm", WARM), WARM), (start(folder / "cold", COLD, "--cold"), COLD)]
        yield
        for place, (process, expected) in zip(("warm", "cold"), runs, strict=True):
            process.wait(timeout=300)
            compare(folder / place, expected)
    finally:
        for process, _ in runs:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def copy_sentinels(folder: Path) -> None:
    """Lay out the sentinels as a project of its own."""
    for file in Path(__file__).with_name("sentinels").glob("*.py"):
        shutil.copy(file, folder / NAMES.get(file.name, file.name))
    (folder / "pytest.ini").write_text("[pytest]\n")


def start(folder: Path, expected: dict[str, str], *options: str) -> subprocess.Popen[bytes]:
    """Start a campaign over some sentinels."""
    folder.mkdir()
    copy_sentinels(folder)
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "campaign.py", "first", *expected, *options],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)},
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )


def compare(folder: Path, expected: dict[str, str]) -> None:
    """Check that each sentinel got its status.

    Raises:
        RuntimeError: one did not, or there is no summary.
    """
    summary = folder / "out" / "summary.json"
    if not summary.exists():
        told = (folder / "log").read_text()[-1000:]
        raise RuntimeError(f"the campaign over the sentinels has not ended well, so this one is void:\n{told}")
    found = {name: verdict["status"] for name, verdict in json.loads(summary.read_text())["faults"].items()}
    wrong = [
        f"{name} is {found.get(name)}, not {status}" for name, status in expected.items() if found.get(name) != status
    ]
    if wrong:
        raise RuntimeError(f"sentinels are misjudged, so the run is void: {'; '.join(wrong)}")

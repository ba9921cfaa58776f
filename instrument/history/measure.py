"""Has one release measured in its environment, or takes what was measured there before."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

from . import environments
from .environments import Pins
from .paths import shortened
from .table import Column

SECONDS = 900


def measure(cache: Path, library: str, release: str, beside: Pins, only: str | None) -> Column:
    """The column of a release; one that does not install or run gives its reason instead."""
    key = f"{environments.key(library, release, beside)}-{sources()}-{name_of(only)}"
    file = cache / "results" / f"{library}-{release}-{key}.json"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        try:
            python = environments.python_of(cache, library, release, beside)
            run(python, file, library, release, only)
        except RuntimeError as reason:
            return Column(release, {}, {}, str(reason))
    found = json.loads(file.read_text())
    return Column(release, found["versions"], found["cells"])


def run(python: Path, file: Path, library: str, release: str, only: str | None) -> None:
    """Run all checks there.

    Raises:
        RuntimeError: they did not end, or not well.
    """
    part = file.with_suffix(".part")
    command = [str(python), "-P", "-m", "instrument.history.column", str(part), library, release]
    quiet = {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONNOUSERSITE": "1"}
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    given = [*command, *([only] if only else [])]
    try:
        ended = subprocess.run(
            given, capture_output=True, text=True, check=False, timeout=SECONDS, env={**surroundings, **quiet, **one}
        )
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"does not run: not done after {SECONDS} s") from late
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or [f"exit status {ended.returncode}"])[-1]
        raise RuntimeError(f"does not run: {shortened(last)}")
    part.rename(file)


def sources() -> str:
    """What measures, as a short name: the text of the instrument and of the closed forms."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for file in sorted([*(root / "instrument").rglob("*.py"), *(root / "closed_forms").rglob("*.py")]):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def name_of(only: str | None) -> str:
    """The choice of checks, as a part of a file's name."""
    return "all" if only is None else hashlib.sha256(only.encode()).hexdigest()[:8]

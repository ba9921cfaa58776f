"""Has one release measured in its environment, or takes what was measured there before."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from . import environments
from .environments import Pins
from .paths import shortened
from .programs import Failed, Programs
from .table import Column

SECONDS = 900


def measure(cache: Path, library: str, release: str, beside: Pins, only: str | None, programs: Programs) -> Column:
    """The column of a release; one that does not install or run gives its reason instead."""
    key = f"{environments.key(library, release, beside)}-{sources()}-{name_of(only)}"
    file = cache / "results" / f"{library}-{release}-{key}.json"
    try:
        found = read(file)
        if found is None:
            file.parent.mkdir(exist_ok=True)
            python = environments.python_of(cache, library, release, beside, programs)
            run(python, file, library, release, only, programs)
            found = json.loads(file.read_text())
    except RuntimeError as reason:
        return Column(release, {}, {}, str(reason))
    except OSError as wrong:
        return Column(release, {}, {}, f"does not run: {shortened(str(wrong))}")
    return Column(release, found["versions"], found["cells"])


def read(file: Path) -> Any:
    """What was measured before; None where it was not, or a disk lost a part of it."""
    try:
        return json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return None


def run(python: Path, file: Path, library: str, release: str, only: str | None, programs: Programs) -> None:
    """Run all checks there.

    Raises:
        RuntimeError: they did not end, or not well.
        OSError: they could not be started, or what they found not be written.
    """
    part = file.with_suffix(".part")
    command = [str(python), "-P", "-m", "instrument.history.column", str(part), library, release]
    quiet = {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONNOUSERSITE": "1"}
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    given = [*command, *([only] if only else [])]
    try:
        programs.run(given, SECONDS, {**surroundings, **quiet, **one})
    except RuntimeError as failed:
        if isinstance(failed, Failed):
            # The release or its environment: nothing tells which, so the next run makes the environment anew.
            (python.parents[1] / "complete").unlink(missing_ok=True)
        raise RuntimeError(f"does not run: {shortened(str(failed))}") from failed
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

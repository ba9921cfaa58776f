"""Virtual environments that hold one release each, and share this environment's torch and what it needs."""

import hashlib
import json
import os
import re
import shutil
import sys
import tomllib
import venv
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import metadata
from pathlib import Path

from filelock import FileLock, Timeout

from .paths import shortened
from .programs import Programs

Pins = dict[str, str]
LIMIT = 6 * 10**9
SECONDS = 900


def pins(library: str) -> dict[str, Pins]:
    """Of each release of a library, oldest first: what stands beside it.

    Raises:
        LookupError: no release of that library is pinned.
    """
    known = tomllib.loads((Path(__file__).parent / "pins.toml").read_text())
    if library not in known:
        raise LookupError(f"--library {library!r} has no pins: give one of {', '.join(known)}")
    return known[library]


def chosen(library: str, versions: str | None) -> dict[str, Pins]:
    """The pinned releases whose number is, or starts with, one of the given ones (comma between them).

    Raises:
        LookupError: a number that no pinned release has.
    """
    known = pins(library)
    if versions is None:
        return known
    wanted = [part.strip() for part in versions.split(",")]
    found = {release for part in wanted for release in known if release == part or release.startswith(f"{part}.")}
    for part in wanted:
        if not any(release == part or release.startswith(f"{part}.") for release in known):
            raise LookupError(f"--versions {part!r}: {library} is pinned at {', '.join(known)}; give some of these")
    return {release: beside for release, beside in known.items() if release in found}


def locked(cache: Path, wait: Callable[[], None] = lambda: None) -> AbstractContextManager[object]:
    """What one process at a time holds: with locked(cache): ...

    Args:
        wait: called before this waits for another process.
    """
    cache.parent.mkdir(parents=True, exist_ok=True)
    # A lock that cannot be made is asked for again and again, without an end.
    Path(f"{cache}.lock").touch()
    lock = FileLock(f"{cache}.lock")
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        wait()
        return lock.acquire()


def clean(cache: Path) -> int:
    """Remove all environments and results; the bytes that they took."""
    taken = size(cache)
    if cache.exists():
        if not (cache / "weighbridge-history").exists():
            raise LookupError(f"--cache {cache} was not made by this command: remove it by hand")
        shutil.rmtree(cache)
    return taken


def size(folder: Path) -> int:
    """Bytes of all files in a folder; what is only linked to does not count, nor what goes while they are counted."""
    taken = 0
    for above, _, names in os.walk(folder):
        for name in names:
            path = Path(above, name)
            if not path.is_symlink() and path.exists():
                taken += path.stat().st_size
    return taken


def begin(cache: Path) -> None:
    """Make the cache's folder, marked as this command's, with links to what all environments share.

    Raises:
        LookupError: the folder holds something else, which `clean` would remove later.
    """
    cache.mkdir(parents=True, exist_ok=True)
    if any(cache.iterdir()) and not (cache / "weighbridge-history").exists():
        raise LookupError(f"--cache {cache} was not made by this command and is not empty: name another folder")
    (cache / "weighbridge-history").touch()
    shared = cache / "shared"
    shutil.rmtree(shared, ignore_errors=True)
    shared.mkdir()
    for name in sorted(needed(["torch", "numpy", "rich", "typer", "Jinja2", "pandas", "pyarrow"])):
        distribution = metadata.distribution(name)
        tops = {file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            link = shared / top
            if not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(top))))
    for package in ("instrument", "closed_forms"):
        (shared / package).symlink_to(Path(__file__).parents[2] / package)


def needed(roots: list[str]) -> set[str]:
    """These distributions, and all installed ones that they ask for."""
    found: set[str] = set()
    open_names = [root.lower() for root in roots]
    while open_names:
        name = open_names.pop()
        try:
            asked = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        names = [re.split(r"[^A-Za-z0-9._-]", line)[0].lower() for line in asked if "extra ==" not in line]
        open_names += [n for n in names if n not in found]
    return found


def key(library: str, release: str, beside: Pins) -> str:
    """What an environment is made of, as a short name."""
    made_of = [library, release, sorted(beside.items()), metadata.version("torch"), sys.version]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:12]


def python_of(cache: Path, library: str, release: str, beside: Pins, programs: Programs) -> Path:
    """The interpreter of an environment that holds the release; made if it is not there.

    Raises:
        RuntimeError: the release cannot be installed.
        OSError: the disk is full, or the cache cannot be written.
    """
    folder = cache / f"{library}-{release}-{key(library, release, beside)}"
    python = folder / "bin" / "python"
    # The interpreter is a link, which an upgrade of the one that it leads to leaves dangling.
    if (folder / "complete").exists() and python.exists():
        lend_pyarrow(cache, folder)
        return python
    if size(cache) > LIMIT:
        raise RuntimeError(f"the cache holds more than {LIMIT / 1e9:.0f} GB: --clean removes it")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        make(cache, folder, python, library, release, beside, programs)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    lend_pyarrow(cache, folder)
    return python


def make(cache: Path, folder: Path, python: Path, library: str, release: str, beside: Pins, programs: Programs) -> None:
    """Make the environment; raises as python_of does."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "shared.pth").write_text(f"{cache / 'shared'}\n")
    wanted = [f"{library}=={release}", *(f"{name}=={version}" for name, version in beside.items())]
    torch = metadata.version("torch")
    constraints = folder / "constraints.txt"
    constraints.write_text(f"torch=={torch.partition('+')[0]}\n")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    options = ["--disable-pip-version-check", "--only-binary", ":all:", "-c", str(constraints)]
    try:
        programs.run([*command, *options, *wanted], SECONDS)
    except RuntimeError as failed:
        raise RuntimeError(f"does not install: {shortened(str(failed))}") from failed
    (folder / "complete").touch()


def lend_pyarrow(cache: Path, folder: Path) -> None:
    """Let pyarrow lie below the environment's prefix: dill takes a module that lies elsewhere apart, and fails at it.

    datasets from 5.2 on hashes a table with functions that name pyarrow.
    """
    (site,) = folder.glob("lib/python*/site-packages")
    link, lent = site / "pyarrow", cache / "shared" / "pyarrow"
    if lent.exists() and not link.exists():
        link.symlink_to(lent)

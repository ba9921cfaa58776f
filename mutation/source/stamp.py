"""What a tree of mutants was made from, and how much of it still holds.

mutmut keeps verdicts by the text of the mutated function, whatever happens to the tests: with an assertion deleted, it
still reports the old kills. So what the verdicts rest on is written down beside them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mutation.source.settings import Settings, mutated_files


@dataclass(frozen=True)
class Stamp:
    """What verdicts rest on.

    Attributes:
        around: digest of the tests, of all that is copied and not mutated, of pyproject.toml and of the versions.
        modules: digest of each mutated file, by path.
    """

    around: str
    modules: Mapping[str, str]


@dataclass(frozen=True)
class Reuse:
    """How much of an earlier tree a run may keep.

    Attributes:
        fresh: nothing; it starts from an empty folder.
        again: otherwise the files whose mutants are made and run anew.
        why: what to tell the user.
    """

    fresh: bool
    again: tuple[str, ...] = ()
    why: str = ""


def take_stamp(project: Path, settings: Settings, versions: Mapping[str, str], but: Path) -> Stamp:
    """Read the files and compute their digests.

    Args:
        but: a file that decides no verdict: the list of equivalent mutants.
    """
    mutated = mutated_files(project, settings)
    roots = [project / name for name in ("tests", "pyproject.toml", "constraints.txt", *settings.sources)]
    roots += [*sorted(project.glob("*.py")), *(project / name for name in settings.beside)]
    files = files_below(roots) - {but}
    around = sorted(file for file in files if file.relative_to(project).as_posix() not in mutated)
    digest = hashlib.sha256(repr(sorted(versions.items())).encode())
    for file in around:
        digest.update(f"{file.relative_to(project).as_posix()} {digest_of(file)}\n".encode())
    return Stamp(digest.hexdigest(), {name: digest_of(project / name) for name in mutated})


def files_below(roots: Iterable[Path]) -> set[Path]:
    """The files at or below some paths that somebody wrote."""
    found = {file for root in roots for file in (root.rglob("*") if root.is_dir() else [root]) if file.is_file()}
    return {file for file in found if file.suffix != ".pyc" and ".hypothesis" not in file.parts}


def digest_of(file: Path) -> str:
    """SHA-256 of what a file holds."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def reuse(old: Stamp | None, new: Stamp, changed_only: bool) -> Reuse:
    """Decide what to keep of the tree that `old` stands for.

    An unfinished run is continued only where nothing at all has changed. `changed_only` asks to keep the verdicts on
    the modules that are as they were, which is quick and takes it on trust that other modules do not decide them.
    """
    if old is None:
        return Reuse(True, why="there is no earlier run to start from, so everything is run")
    if old.around != new.around:
        return Reuse(True, why="tests, settings, versions or code that is not mutated have changed: everything is run")
    names = {*old.modules, *new.modules}
    again = tuple(sorted(name for name in names if old.modules.get(name) != new.modules.get(name)))
    if again and not changed_only:
        return Reuse(True, why=f"{len(again)} of {len(names)} modules have changed, so everything is run")
    if not again:
        return Reuse(False, why="nothing has changed: what has a verdict keeps it")
    return Reuse(False, again, f"only {', '.join(again)} changed, so only their mutants are run")

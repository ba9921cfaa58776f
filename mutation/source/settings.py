"""Which files a run over the source mutates, as pyproject.toml tells mutmut."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """The part of mutmut's settings that decides what is read.

    Attributes:
        sources: folders with code; what is not mutated there is copied.
        only: patterns of the files to mutate; all when empty.
        never: patterns of files to leave alone.
        beside: what else is copied.
    """

    sources: Sequence[str]
    only: Sequence[str] = ()
    never: Sequence[str] = ()
    beside: Sequence[str] = ()


def read_settings(project: Path) -> Settings:
    """Read the section [tool.mutmut] of the project.

    Raises:
        ValueError: there is no pyproject.toml, or it names no source_paths and mutmut would guess.
    """
    if not (project / "pyproject.toml").exists():
        raise ValueError(f"{project} holds no pyproject.toml: run the command at the top of a project")
    section = tomllib.loads((project / "pyproject.toml").read_text()).get("tool", {}).get("mutmut", {})
    if not section.get("source_paths"):
        raise ValueError("pyproject.toml has no source_paths under [tool.mutmut]: name the folders to mutate")
    return Settings(
        section["source_paths"],
        section.get("only_mutate", []),
        section.get("do_not_mutate", []),
        section.get("also_copy", []),
    )


def is_mutated(file: str, settings: Settings) -> bool:
    """Whether mutmut mutates a file, given by its path below the project."""
    wanted = not settings.only or any(fnmatch(file, pattern) for pattern in settings.only)
    return file.endswith(".py") and wanted and not any(fnmatch(file, pattern) for pattern in settings.never)


def mutated_files(project: Path, settings: Settings) -> list[str]:
    """List the files that are mutated, by their paths below the project."""
    files = [file for folder in settings.sources for file in (project / folder).rglob("*.py")]
    names = sorted(file.relative_to(project).as_posix() for file in files)
    return [name for name in names if is_mutated(name, settings)]

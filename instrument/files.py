"""The files that a command is asked to write."""

from collections.abc import Mapping
from pathlib import Path

import typer


def refuse_unwritable(files: Mapping[str, Path | None]) -> None:
    """Raise before anything is measured where an option's file cannot be written; None was not asked for."""
    places: dict[Path, str] = {}
    for option, file in files.items():
        if file is None:
            continue
        whole = file.resolve()
        try:
            if file.is_dir() or not whole.parent.is_dir():
                raise typer.BadParameter(f"{option} {file}: name a file in a folder that is there")
            try_to_write(whole)
        except OSError as problem:
            raise typer.BadParameter(f"{option} {file}: {problem.strerror}: name another file") from problem
        if places.setdefault(whole, option) != option:
            raise typer.BadParameter(f"{option} {file} is the file of {places[whole]} too: name another")


def try_to_write(file: Path) -> None:
    """Open a file for writing and leave it as it was; a pipe or a device is left alone.

    Raises:
        OSError: it cannot be opened.
    """
    there = file.exists()
    if file.is_file() or not there:
        file.open("a").close()
        if not there:
            file.unlink()

"""The files that are written: whole or absent, and what to say where they cannot be."""

import os
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


def write(file: str | Path, text: str) -> None:
    """Write a text in UTF-8, whatever the locale; what stood there before stays until the new text is whole.

    Raises:
        OSError: there is no room, or no permission.
    """
    # A link is followed, so that what it names is replaced and not the link.
    place = Path(file).resolve()
    if place.exists() and not place.is_file():
        # A device or a pipe, as /dev/stdout, cannot be replaced.
        place.write_text(text, encoding="utf-8")
        return
    # A name that no other process writes to, and that nobody reads.
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def write_asked(files: Mapping[str, tuple[Path | None, str]]) -> None:
    """Write the files that options asked for, each with its text; one that cannot be written keeps no other from it.

    Raises:
        typer.BadParameter: one could not be written.
    """
    refused = []
    for option, (file, text) in files.items():
        if file is not None:
            try:
                write(file, text)
            except OSError as problem:
                refused.append(f"{option} {file} was not written: {problem.strerror}: make room, or name another file")
    if refused:
        raise typer.BadParameter("; ".join(refused))

"""The files that a command is asked to write."""

from collections.abc import Mapping
from pathlib import Path

import typer


def refuse_unwritable(files: Mapping[str, Path | None]) -> None:
    """Raise before anything is measured where an option's file cannot be written; None was not asked for."""
    for option, file in files.items():
        if file is not None and (file.is_dir() or not file.resolve().parent.is_dir()):
            raise typer.BadParameter(f"{option} {file}: name a file in a folder that is there")

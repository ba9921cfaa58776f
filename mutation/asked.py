"""What a command is asked with: read, or answered with one clear line that ends the command."""

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from faults import CATALOGUE, Fault
from mutation.equivalents import read_equivalents
from mutation.expectations import Expectations, read_expectations
from mutation.export.folder import export
from mutation.killers import read_killers

EXCEPTIONS = Path(__file__).with_name("equivalents.toml")


@contextmanager
def refused() -> Iterator[None]:
    """End the command with what a ValueError in the block says."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def known(name: str) -> Fault:
    """The fault of that name; for a wrong name, the nearest right ones are told."""
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, n=3) or list(CATALOGUE)
        raise typer.BadParameter(f"there is no fault {name!r}; did you mean {', '.join(near)}?")
    return CATALOGUE[name]


def equivalents() -> dict[str, str]:
    """The faults that nobody can notice."""
    with refused():
        return read_equivalents(EXCEPTIONS, CATALOGUE)


def noticed_before() -> dict[str, list[str]]:
    """The tests that are tried first."""
    with refused():
        return read_killers()


def declared() -> Expectations:
    """What the catalogue's campaigns may pass with."""
    with refused():
        return read_expectations(EXCEPTIONS, CATALOGUE)


def exported(folder: Path, expectations: Expectations) -> dict[str, Any]:
    """Judge and write out what a folder holds."""
    with refused():
        return export(folder, CATALOGUE, expectations)

"""`python -m instrument.report report.json > docs/checks.md`: the page of the checks, from what a run wrote."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .as_page import page


def main(
    file: Annotated[Path, typer.Argument(help="What `weighbridge report --json FILE` wrote, of all checks.")],
    held: Annotated[Path | None, typer.Option(help="Compare with this page instead; exit 1 where they differ.")] = None,
) -> None:
    """Print the page of the checks."""
    try:
        found = page(json.loads(file.read_text("utf-8"))["checks"])
        written = None if held is None else held.read_text("utf-8")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise typer.BadParameter(
            f"{error!r}: give what weighbridge report --json FILE wrote, and with --held the page that it gave"
        ) from error
    if held is None:
        typer.echo(found, nl=False)
    elif written != found:
        typer.echo(f"{held} is not what this run gives: python -m instrument.report {file} > {held}", err=True)
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)

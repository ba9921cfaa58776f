"""`weighbridge history`: the same checks under other releases, and one table."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..files import refuse_unwritable, write_asked
from ..progress import shown
from . import claims, environments
from .measure import measure
from .page import page
from .table import as_text

CACHE = Path.home() / ".cache" / "weighbridge" / "history"


def history(
    library: Annotated[str, typer.Option(help="The library whose releases are the columns.")] = "transformers",
    versions: Annotated[
        str | None, typer.Option(help="Only these, with commas between them: 4.45.2,5 (5: all that start with it).")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Run one group of checks, or those with this in their name.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all that was measured to this file.")] = None,
    html_file: Annotated[Path | None, typer.Option("--html", help="Write the table as a page to this file.")] = None,
    cache: Annotated[Path, typer.Option(help="Where environments and results are kept.")] = CACHE,
    clean: Annotated[bool, typer.Option("--clean", help="Remove environments and results, and stop.")] = False,
) -> None:
    """Run the checks inside environments that hold other releases. Exit status 1 when none of them runs."""
    refuse_unwritable({"--json": json_file, "--html": html_file})
    cache = cache.resolve()
    try:
        with environments.locked(cache):
            if clean:
                print(f"removed {environments.clean(cache) / 1e9:.2f} GB")
                return
            chosen = environments.chosen(library, versions)
            environments.begin(cache)
            with ThreadPoolExecutor(2) as pool:
                waiting = [pool.submit(measure, cache, library, *each, only) for each in chosen.items()]
                making = (each.result() for each in waiting)
                columns = list(shown(making, [f"{library} {release}" for release in chosen], Console(stderr=True)))
            taken = environments.size(cache)
    except LookupError as wrong:
        raise typer.BadParameter(str(wrong.args[0])) from wrong
    told = json.dumps({"library": library, "columns": [asdict(column) for column in columns]}, indent=2) + "\n"
    # Before anything is printed, since who reads the output may go away.
    write_asked({"--json": (json_file, told), "--html": (html_file, page(library, columns) if html_file else "")})
    for line in as_text(columns):
        print(line)
    print("\nreports, and the columns:")
    for line in claims.as_lines(library, [column for column in columns if not column.reason]):
        print(line)
    print(f"\nthe environments and results of the cache take {taken / 1e9:.2f} GB; --clean removes them")
    raise typer.Exit(int(all(column.reason for column in columns)))

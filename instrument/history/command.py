"""`weighbridge history`: the same checks under other releases, and one table."""

import json
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..files import refuse_unwritable, write_asked
from ..progress import shown
from . import claims, environments
from .measure import measure
from .page import page
from .programs import Programs
from .table import Column, as_text

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
    cache, errors = cache.resolve(), Console(stderr=True)
    try:
        chosen = environments.chosen(library, versions)
        refuse_unknown(library, only)
        with environments.locked(cache, lambda: errors.print(f"another run holds {cache}: waiting until it ends")):
            if clean:
                print(f"removed {environments.clean(cache) / 1e9:.2f} GB")
                return
            environments.begin(cache)
            with Interruptible() as programs, ThreadPoolExecutor(2) as pool:
                waiting = [pool.submit(measure, cache, library, *each, only, programs) for each in chosen.items()]
                making = (each.result() for each in waiting)
                try:
                    columns = list(shown(making, [f"{library} {release}" for release in chosen], errors))
                except BaseException:
                    programs.end_all()
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
            taken = environments.size(cache)
        refuse_nothing_asked(only, columns)
    except LookupError as wrong:
        raise typer.BadParameter(str(wrong.args[0])) from wrong
    except OSError as wrong:
        raise typer.BadParameter(
            f"--cache {cache} cannot be used ({wrong}): name a folder that can be written"
        ) from wrong
    except KeyboardInterrupt:
        errors.print("interrupted: what was made and measured is kept; the same command goes on from there")
        raise typer.Exit(130) from None
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


class Interruptible:
    """Programs that end when this process is told to: they are in sessions of their own, which no signal reaches."""

    def __enter__(self) -> Programs:
        told = (signal.SIGTERM, signal.SIGHUP) if threading.current_thread() is threading.main_thread() else ()
        self._before = {number: signal.signal(number, interrupt) for number in told}
        return Programs()

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def interrupt(*_: object) -> None:
    """As Ctrl-C does."""
    raise KeyboardInterrupt


def refuse_unknown(library: str, only: str | None) -> None:
    """Raise before an hour of work where no check has that name; not told where the library is not installed here.

    Raises:
        LookupError: none has it.
    """
    if only is not None and find_spec(library) is not None:
        from .. import checks
        from .reported import reported_checks

        checks.choose(only, [*checks.all_checks(), *reported_checks()])


def refuse_nothing_asked(only: str | None, columns: list[Column]) -> None:
    """Raise where releases ran and none has a check of that name.

    Raises:
        LookupError: so it is.
    """
    ran = [column for column in columns if not column.reason]
    if only is not None and ran and not any(column.cells for column in ran):
        raise LookupError(f"--only {only!r} matches no check of these releases: give a group or part of a name")

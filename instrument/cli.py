"""The command `weighbridge`."""

import errno
import gc
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .atlas.command import atlas
from .files import refuse_unwritable, write_asked
from .history.command import history
from .history.written import export, legacy_ga
from .progress import shown
from .quiet import quiet
from .run.command import run

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
app.command()(atlas)
app.command()(history)
app.command()(legacy_ga)
app.command()(export)
# What stands behind the script is the script's own.
app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})(run)


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        # What could not be written is still in a buffer, which python would try to write once more as it ends.
        sys.stdout = None  # type: ignore[assignment]
        where = f" ({problem.filename})" if problem.filename else ""
        sys.exit(f"weighbridge: what it writes has no room{where}: {problem.strerror}: make room, and run it again")


def show_version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        print(f"weighbridge {version('weighbridge')}")
        raise typer.Exit()


@app.callback()
def weighbridge(
    asked: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Read what every token weighed in a training step, and compare it with closed forms."""


@app.command()
def report(
    only: Annotated[
        str | None,
        typer.Option(help="Run one group (trainer, accelerate, leaks, trl) or the checks with this in their name."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything that was measured to this file.")
    ] = None,
) -> None:
    """Measure what the installed training stack gives every token, check by check. Exit status 1 when one fails."""
    quiet()
    # Importing the training libraries takes seconds, so it happens behind the first line and not before --help.
    errors, out = Console(stderr=True), wide_console()
    with errors.status("importing torch and transformers"):
        import torch

        from . import checks
        from .report import as_json, as_text

        # The probe is too small for a second thread, which would only wait on a busy machine.
        torch.set_num_threads(1)
        # accelerate collects garbage at the end of each run; what the imports made need not be looked at again.
        gc.freeze()
    try:
        chosen = checks.choose(only)
    except LookupError as unknown:
        raise typer.BadParameter(str(unknown.args[0])) from unknown
    refuse_unwritable({"--json": json_file})
    outcomes = list(shown(checks.run_checks(only), [check.name for check in chosen], errors))
    # Before anything is printed, since who reads the output may go away.
    if json_file is not None:
        write_asked({"--json": (json_file, json.dumps(as_json.outcomes(outcomes), indent=2, allow_nan=False) + "\n")})
    out.print(summary(outcomes))
    for line in as_text.closing(outcomes):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(int(any(outcome.status == checks.FAULT for outcome in outcomes)))


def wide_console() -> Console:
    """Standard output, wide enough for the table where it goes to a file or a pipe."""
    out = Console()
    return out if out.is_terminal else Console(width=140)


def summary(outcomes: list) -> Table:
    """One line per check."""
    grid = Table("check", "loop", "expected", "measured", "off by", "status")
    styles = {"ok": "green", "known": "yellow", "not run": "dim", "FAULT": "bold red"}
    for o in outcomes:
        status = f"[{styles[o.status]}]{o.status}[/]"
        grid.add_row(o.name, o.group, o.expected, o.measured, f"{o.deviation:.1e}", status)
    return grid


if __name__ == "__main__":
    main()

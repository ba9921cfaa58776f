"""`python -m faults`: list the faults, show one, or run any command with one planted.

Written with the standard library alone, as all of this package: it must run wherever the library under test is.
"""

import argparse
import difflib
import inspect
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from faults import CATALOGUE, Fault
from faults._started import Tally, environment


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="name, quantity, library and year of each fault")
    listing.add_argument("--library", help="only faults of this library, e.g. trl")
    listing.add_argument("--quantity", help="only faults that show in this quantity, e.g. leak")
    showing = commands.add_parser("show", help="all that is known of one fault, with its code")
    showing.add_argument("name")
    commands.add_parser("docs", help="docs/faults.md, to the standard output")
    running = commands.add_parser("run", help="run a command with the fault on in every Python process")
    running.add_argument("name")
    running.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND ...", help="e.g. -- python train.py")
    given = parser.parse_args(arguments)
    try:
        if given.command == "list":
            print(table(chosen(given.library, given.quantity)))
        elif given.command == "show":
            print(story(given.name, known(given.name)))
        elif given.command == "docs":
            print(page(CATALOGUE), end="")
        else:
            return run(given.name, known(given.name), given.words[given.words[:1] == ["--"] :])
    except LookupError as error:
        parser.error(str(error))
    return 0


def known(name: str) -> Fault:
    """The fault of this name.

    Raises:
        LookupError: there is none.
    """
    if name not in CATALOGUE:
        near = ", ".join(difflib.get_close_matches(name, CATALOGUE)) or "none is similar"
        raise LookupError(f"there is no fault {name!r} (near it: {near}): see `python -m faults list`")
    return CATALOGUE[name]


def chosen(library: str | None, quantity: str | None) -> dict[str, Fault]:
    """The faults of a library that show in a quantity; None stands for any.

    Raises:
        LookupError: no fault has this library, or this quantity.
    """
    for option, value, values in (
        ("--library", library, {library_of(fault) for fault in CATALOGUE.values()}),
        ("--quantity", quantity, {str(fault.quantity) for fault in CATALOGUE.values()}),
    ):
        if value is not None and value not in values:
            raise LookupError(f"{option} {value}: no fault has it, choose from {', '.join(sorted(values))}")
    return {
        name: fault
        for name, fault in CATALOGUE.items()
        if library in (None, library_of(fault)) and quantity in (None, fault.quantity)
    }


def library_of(fault: Fault) -> str:
    """The library whose function a fault breaks."""
    return fault.seam.split(".")[0].split(":")[0]


def table(faults: dict[str, Fault]) -> str:
    """One line per fault."""
    rows = [(name, fault.quantity, fault.library, str(fault.year or "")) for name, fault in faults.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(4)] if rows else []
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows)


def story(name: str, fault: Fault) -> str:
    """Everything about one fault, and the code that breaks the function."""
    lines = {
        "library": fault.library,
        "seam": fault.seam,
        "source": fault.source or "written for this project, to slip past its tests",
        "year": fault.year or "",
        "mechanism": fault.mechanism,
        "effect": f"{fault.quantity} as {fault.effect}",
        "instead of": fault.clean or "the clean form of that quantity",
    }
    told = "\n".join(f"{key + ':':12}{value}" for key, value in lines.items() if value)
    return f"{name}\n\n{told}\n\n{inspect.getsource(fault.patch).rstrip()}"


def page(faults: dict[str, Fault]) -> str:
    """The faults as Markdown, by library."""
    told = [
        "# The faults",
        "",
        "Written by `python -m faults docs`. `python -m faults run NAME -- COMMAND` runs a command with one planted.",
    ]
    for library in sorted({library_of(fault) for fault in faults.values()}):
        mine = {name: fault for name, fault in faults.items() if library_of(fault) == library}
        told += ["", f"## {library}: {len(mine)}", "", "| fault | what the code then does wrong | effect | report |"]
        told.append("|---|---|---|---|")
        for name, fault in mine.items():
            report = f"[{fault.year}]({fault.source})" if fault.source else "none: written for this project"
            told.append(f"| `{name}` | {fault.mechanism} | {fault.quantity}: `{fault.effect}` | {report} |")
    return "\n".join(told) + "\n"


def run(name: str, fault: Fault, command: Sequence[str]) -> int:
    """Run a command with a fault on in every Python process that it is or starts, and say how often it was met.

    Returns:
        The command's exit status; 1 where the command succeeded and the fault could not be planted.

    Raises:
        LookupError: there is no command, or it cannot be found.
    """
    if not command:
        raise LookupError(f"run {name}: no command came, put it behind two dashes: run {name} -- python train.py")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "hits")
        file.touch()
        try:
            planted = environment(file, f"faults:CATALOGUE:{name}", [fault.seam])
            status = ended(command, {**os.environ, **planted})
        except OSError as error:
            raise LookupError(f"run {name}: {command[0]} cannot be run ({error.strerror}): give a command") from error
        try:
            met = Tally(str(file), {fault.seam: 0}, os.getpid()).total()[fault.seam]
        except (LookupError, RuntimeError) as error:
            print(f"{name}: not planted {error}", file=sys.stderr)
            return status or 1
    times = "never called: the command did not meet it, or no Python process of it could plant (-I, -E, -S)"
    if met:
        times = f"called {met} time{'s' * (met > 1)}"
    print(f"{name}: {fault.seam} was {times}", file=sys.stderr)
    # A shell tells a signal this way.
    return status if status >= 0 else 128 - status


def ended(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command to its own end, whoever interrupts, and return its status."""
    process = subprocess.Popen(command, env=environment)
    before = signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(number))
    try:
        while True:
            # A terminal interrupts the command too, which may have a checkpoint to write.
            with suppress(KeyboardInterrupt):
                return process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has read enough; Python flushes once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)

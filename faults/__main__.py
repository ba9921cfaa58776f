"""`python -m faults`: list the faults, show one, or run any command with one planted.

Written with the standard library alone, as all of this package: it must run wherever the library under test is.
"""

import argparse
import difflib
import errno
import inspect
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import get_args

from faults import CATALOGUE, WEAKENED, Fault
from faults._fault import Family, emulated_from, library_of
from faults._new import write
from faults._page import page
from faults._started import Tally, environment


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="name, family, quantity, library and year of each fault")
    listing.add_argument("--family", help="only faults of this kind, e.g. masks")
    listing.add_argument("--library", help="only faults of this library, e.g. trl")
    listing.add_argument("--quantity", help="only faults that show in this quantity, e.g. leak")
    showing = commands.add_parser("show", help="all that is known of one fault, with its code")
    showing.add_argument("name")
    commands.add_parser("docs", help="docs/faults.md, to the standard output")
    running = commands.add_parser("run", help="run a command with the fault on in every Python process")
    running.add_argument("name", help="of the fault, or NAME@0.01 for a hundredth of it, where it has weaker forms")
    running.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND ...", help="e.g. -- python train.py")
    adding = commands.add_parser("new", help="write the file of a new fault, and say what to do next")
    adding.add_argument("name")
    adding.add_argument("--seam", required=True, help='the function that it breaks, as "module:qualified name"')
    adding.add_argument("--source", default="", help="link to the public report; none for a fault of the instrument")
    adding.add_argument("--year", type=int, default=date.today().year, help="of the report")
    adding.add_argument("--family", choices=get_args(Family), default="normalisation", help="what kind of defect")
    given = parser.parse_args(arguments)
    try:
        if given.command == "list":
            print(table(chosen(family=given.family, library=given.library, quantity=given.quantity)))
        elif given.command == "show":
            print(story(given.name, known(given.name)))
        elif given.command == "docs":
            print(page(CATALOGUE), end="")
        elif given.command == "new":
            print(write(given.name, given.seam, given.source, given.year, given.family))
        else:
            return run(given.name, given.words[given.words[:1] == ["--"] :])
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


def chosen(**wanted: str | None) -> dict[str, Fault]:
    """The faults of a family, of a library, and that show in a quantity; None stands for any.

    Raises:
        LookupError: no fault has this family, library or quantity.
    """
    found = CATALOGUE
    for option, value in wanted.items():
        of = {name: library_of(f) if option == "library" else str(getattr(f, option)) for name, f in CATALOGUE.items()}
        if value is not None and value not in of.values():
            raise LookupError(f"--{option} {value}: no fault has it, choose from {', '.join(sorted({*of.values()}))}")
        found = {name: fault for name, fault in found.items() if value in (None, of[name])}
    return found


def table(faults: dict[str, Fault]) -> str:
    """One line per fault."""
    rows = [(name, f.family, f.quantity, f.library, str(f.year or "")) for name, f in faults.items()]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows)


def story(name: str, fault: Fault) -> str:
    """Everything about one fault, and the code that breaks the function."""
    lines = {
        "family": fault.family,
        "library": fault.library,
        "seam": fault.seam,
        "source": fault.source or "written for this project, to slip past its tests",
        "year": fault.year or "",
        "emulates": emulated_from(fault),
        "mechanism": fault.mechanism,
        "effect": f"{fault.quantity} as {fault.effect}",
        "instead of": fault.clean or "the clean form of that quantity",
    }
    told = "\n".join(f"{key + ':':12}{value}" for key, value in lines.items() if value)
    return f"{name}\n\n{told}\n\n{inspect.getsource(fault.patch).rstrip()}"


def run(name: str, command: Sequence[str]) -> int:
    """Run a command with a fault on in every Python process that it is or starts, and say how often it was met.

    Args:
        name: of the fault, or "name@strength".

    Returns:
        The command's exit status; 1 where the command succeeded and the fault could not be planted.

    Raises:
        LookupError: there is no such fault, or none so weak; there is no command, or it cannot be found.
    """
    whole, at, strength = name.partition("@")
    fault, place = known(whole), f"faults:{'WEAKENED' if at else 'CATALOGUE'}:{name}"
    if at and name not in WEAKENED:
        raise LookupError(
            f"run {name}: {strength!r} is no share of {whole}: give a number above 0 and at most 1, of a fault that "
            f"has weaker forms ({', '.join(form.partition('@')[0] for form in WEAKENED)})"
        )
    if not command:
        raise LookupError(f"run {name}: no command came, put it behind two dashes: run {name} -- python train.py")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "hits")
        file.touch()
        try:
            planted = environment(file, place, [fault.seam])
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
    except OSError as problem:
        if problem.errno not in (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        # Of a broken pipe nothing is said, since whoever read has read enough.
        if problem.errno != errno.EPIPE:
            print(f"python -m faults: the output cannot be written: {problem.strerror}: make room", file=sys.stderr)
        # Python flushes once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)

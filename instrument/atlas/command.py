"""The command `weighbridge atlas`."""

import fnmatch
import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..files import refuse_unwritable, write_asked
from ..progress import progress_bar
from .cell import DEVIATES, NO_READING, NOT_APPLICABLE, OK, Result


def atlas(
    architectures: Annotated[str, typer.Option(help="Only those with such a name, e.g. 'qwen*'.")] = "*",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all that was found to this file.")] = None,
    html_file: Annotated[Path | None, typer.Option("--html", help="Write a table that sorts and filters.")] = None,
    repro: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="ARCH CHECK", help="Print the script that asks one question again, and measure nothing."),
    ] = None,
    head: Annotated[str, typer.Option(help="Which of their models: another head has fewer checks.")] = "causal-lm",
    workers: Annotated[int, typer.Option(min=1, help="Processes at once.")] = max(1, os.cpu_count() or 1),
    resume: Annotated[bool, typer.Option("--resume", help="Keep what the --json file holds already.")] = False,
) -> None:
    """Put every causal architecture of the installed transformers, built tiny, through a fixed set of checks."""
    errors = Console(stderr=True)
    with errors.status("importing torch and transformers"):
        load()
    refuse_unknown_head(head)
    if repro is not None:
        print(reproduction(*repro, head), end="")
        return
    refuse_unwritable({"--json": json_file, "--html": html_file})
    names, done = chosen(architectures, head), earlier(json_file, resume, head)
    results, started = [r for r in done if r.name in names], time.monotonic()
    measure([n for n in names if n not in {r.name for r in results}], results, done, head, json_file, workers, errors)
    if html_file is not None:
        from .page import page

        write_asked({"--html": (html_file, page(results, head))})
    out = Console()
    (out if out.is_terminal else Console(width=140)).print(summary(results, head))
    seconds = f"{time.monotonic() - started:.0f} s, {sum(r.seconds for r in results):.0f} s of processor time"
    out.print(f"{closing(results)}; {seconds}", markup=False, highlight=False, soft_wrap=True)


def load() -> None:
    """Import everything once, here, for all the processes that are forked from this one."""
    # Before torch reads it: a child forked from a process with two OpenMP threads hangs.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import torch

    from . import page, sweep  # noqa: F401 - all that is needed later, since the processes to come are copies of this one

    torch.set_num_threads(1)


def refuse_unknown_head(head: str) -> None:
    """Raise for a head that is not in the table."""
    from .heads import HEADS

    if head not in HEADS:
        raise typer.BadParameter(f"--head {head!r} is none of {', '.join(HEADS)}")


def chosen(pattern: str, head: str) -> list[str]:
    """The architectures of that name."""
    from .heads import architectures

    known = architectures(head)
    names = [name for name in known if fnmatch.fnmatchcase(name, pattern)]
    if not names:
        raise typer.BadParameter(
            f"--architectures {pattern!r} matches none of {len(known)} architectures with this head, such as "
            f"{', '.join(known[:3])}: give a name or a pattern, e.g. 'qwen*'"
        )
    return names


def earlier(json_file: Path | None, resume: bool, head: str) -> list[Result]:
    """What an earlier sweep found."""
    if not resume:
        return []
    if json_file is None:
        raise typer.BadParameter("--resume needs --json FILE, the file of the sweep to go on with")
    from . import as_json

    try:
        return as_json.read(json_file, head) if json_file.exists() else []
    except ValueError as refusal:
        raise typer.BadParameter(str(refusal)) from refusal


def measure(
    names: list[str],
    results: list[Result],
    done: list[Result],
    head: str,
    json_file: Path | None,
    workers: int,
    errors: Console,
) -> None:
    """Sweep, and write what is found as it comes."""
    from . import as_json
    from .sweep import sweep

    with progress_bar(errors, by_itself=False) as progress:
        task = progress.add_task("architectures", total=len(names))
        for result in sweep(names, head, workers):
            results.append(result)
            if json_file is not None:
                kept = [r for r in done if r.name not in {x.name for x in results}]
                as_json.write(json_file, [*results, *kept], head)
            progress.update(task, advance=1, description=result.name, refresh=True)


def reproduction(name: str, check: str, head: str) -> str:
    """The script of one architecture and check."""
    from . import repro
    from .build import Subject
    from .checks import all_checks

    names, checks = chosen(name, head), {c.name: c for c in all_checks(head)}
    if len(names) > 1 or check not in checks:
        raise typer.BadParameter(f"--repro takes one architecture and one of the checks {', '.join(map(repr, checks))}")
    try:
        subject = Subject(names[0], head)
    except Exception as error:
        raise typer.BadParameter(f"{names[0]} cannot be built: {error}") from error
    return repro.script(names[0], subject.config_arguments, checks[check].tail(subject), head)


def summary(results: list[Result], head: str) -> Table:
    """One line per check: how many architectures gave which answer."""
    from .checks import all_checks

    kinds = (OK, DEVIATES, NOT_APPLICABLE, NO_READING)
    table = Table("check", *kinds, "farthest off")
    for check in all_checks(head):
        cells: dict[str, Any] = {r.name: r.cells[check.name] for r in results if not r.reason}
        counts = [
            str(sum(c.status == kind for c in cells.values())) for kind in (OK, DEVIATES, NOT_APPLICABLE, NO_READING)
        ]
        off = {name: c.figure for name, c in cells.items() if c.status == DEVIATES}
        worst = max(off, key=lambda name: off[name], default=None)
        table.add_row(check.name, *counts, "" if worst is None else f"{worst}, {off[worst]:.2g}")
    return table


def closing(results: list[Result]) -> str:
    """How many were built, and answered everything."""
    built = [r for r in results if not r.reason]
    conclusive = sum(all(c.status != NO_READING for c in r.cells.values()) for r in built)
    return f"{len(built)} of {len(results)} built, {conclusive} conclusive on every check"

"""The command `weighbridge run`."""

import os
import signal
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..files import refuse_unwritable, write
from .at_once import AtOnce
from .find import Finder, Recorder
from .given import GivenRows
from .late import WhenImported
from .lost import Watchman
from .ranks import Meeting
from .schedules import Schedules
from .script import Ending, run_script
from .streams import Aside, flush

LAST = ("any", "warning", "no-verdict", "none")


def run(
    words: Annotated[list[str], typer.Argument(metavar="SCRIPT ARGS...", help="The script, and its own arguments.")],
    as_module: Annotated[bool, typer.Option("-m", help="SCRIPT is a module, as for python -m.")] = False,
    windows: Annotated[int, typer.Option(min=1, help="Optimizer steps to record.")] = 2,
    stop: Annotated[bool, typer.Option("--stop", help="End the script after them.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all that was measured to this file.")] = None,
    html_file: Annotated[Path | None, typer.Option("--html", help="Write a page for people to this file.")] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="End with status 1 on: a code, any (fault), warning, no-verdict, none."),
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="Folder or name of the tokenizer that decodes the rows.")
    ] = None,
    leaks: Annotated[
        bool, typer.Option("--leaks", help="Search a batch for documents that read each other: some ten more passes.")
    ] = False,
    records: Annotated[Path | None, typer.Option(help="Folder in which the ranks of a launcher meet.")] = None,
) -> None:
    """Run a training script of yours, and tell what every token weighed in its first optimizer steps.

    The script does what it does without this. What is told goes to the standard error, behind what the script says.
    """
    kinds = ["any"] if fail_on is None else fail_on
    refuse_unknown(kinds)
    refuse_unwritable({"--json": json_file, "--html": html_file})
    if not as_module and not Path(words[0]).exists():
        what = "option of this command, and no file" if words[0].startswith("-") else "file"
        raise typer.BadParameter(f"{words[0]} is no {what}: name a script, or a module behind -m")
    # A script may go to another folder.
    json_file, html_file, records = (file and file.resolve() for file in (json_file, html_file, records))
    meeting, process, given, aside, schedules = Meeting(records), os.getpid(), GivenRows(), Aside(), Schedules()
    finder = Finder(windows, stop, partial(attach_late, leaks=leaks, schedules=schedules))

    def unhook() -> None:
        finder.close()
        finder.uninstall()
        given.uninstall()
        schedules.uninstall()

    def tell(ending: Ending) -> bool:
        try:
            failed = report(words, finder, given, ending, meeting, tokenizer, kinds, aside, (json_file, html_file))
        except Exception:
            # Whatever happens here is ours, and the script has ended as it has.
            traceback.print_exc(file=aside.stream())
            failed = True
        return failed

    def tell_at_once(status: int) -> int:
        unhook()
        failed = tell(Ending(status & 0xFF, at_once=True))
        watchman.dismiss()
        return status or int(failed)

    with Watchman(meeting.rank == 0) as watchman:
        try:
            with (
                WhenImported("torch", finder.install),
                WhenImported("torch.optim.lr_scheduler", schedules.install),
                WhenImported("trl.trainer.sft_trainer", given.install),
                AtOnce(tell_at_once),
            ):
                ending = run_script(words, as_module)
        finally:
            if os.getpid() == process:
                unhook()
        if os.getpid() != process:
            # A process that the script forked came out of it: it is not the one to tell.
            sys.exit(ending.status)
        failed = tell(ending)
    leave(ending, failed)


def attach_late(
    module: Any, kwargs: dict[str, Any], optimizers: list[Any], leaks: bool, schedules: Schedules
) -> Recorder:
    """Import what records a model when there is one."""
    from .attach import attach

    return attach(module, kwargs, optimizers, leaks, schedules)


def report(
    words: list[str],
    finder: Finder,
    given: GivenRows,
    ending: Ending,
    meeting: Meeting,
    tokenizer: str | None,
    kinds: list[str],
    aside: Aside,
    files: tuple[Path | None, Path | None],
) -> bool:
    """Tell what was found; whether the status must say so."""
    from .conclude import conclude
    from .tell import tell

    outcome = conclude(words, finder, given, ending, meeting, tokenizer)
    if outcome is None:
        return False
    console = Console(file=aside.stream())
    json_file, html_file = files
    # Before anything is told, since who reads it may go away.
    unwritten = []
    if json_file is not None:
        from .as_json import text

        unwritten += failure(json_file, text(outcome))
    if html_file is not None:
        from .page import page

        unwritten += failure(html_file, page(outcome))
    tell(console, outcome)
    for said in unwritten:
        console.print(f"  {said}", markup=False, highlight=False, soft_wrap=True)
    return bool(unwritten) or outcome.failed(kinds)


def failure(file: Path, text: str) -> list[str]:
    """Write a file; what to say where that fails now."""
    try:
        write(file, text)
    except OSError as problem:
        return [f"{file} was not written: {problem.strerror}"]
    return []


def refuse_unknown(kinds: list[str]) -> None:
    """Raise for a kind of --fail-on that nothing can be of."""
    from ..codes import kinds as codes
    from ..codes import of_the_run

    known = [*codes(), *of_the_run(), *LAST]
    for kind in kinds:
        if kind not in known:
            raise typer.BadParameter(f"--fail-on {kind}: the kinds are {', '.join(known)}")


def leave(ending: Ending, failed: bool) -> None:
    """End as the script did, or with status 1 if it ended well and a fault was found."""
    flush(sys.stdout)
    if isinstance(ending.error, KeyboardInterrupt):
        # As python ends: by the signal, so that a shell stops too.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(ending.status or int(failed))

"""`python -m mutation planted`, `prove NAME` and `why FAULT [TEST]`."""

import difflib
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from faults import CATALOGUE, Fault
from mutation.campaign import Campaign, run
from mutation.case import Verdict
from mutation.equivalents import read_equivalents
from mutation.plan import Plan
from mutation.screen import Screen
from mutation.show import show_line, show_story, show_summary
from mutation.single_thread import use_one_thread
from mutation.why import explain

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Would the suite notice?")

Out = Annotated[Path, typer.Option(help="Folder for cells.jsonl and summary.json.")]
Workers = Annotated[int, typer.Option(min=1, help="Children at a time.")]


class Mode(StrEnum):
    """How much of the matrix of faults and tests is run."""

    FIRST = "first"
    MATRIX = "matrix"


def main() -> None:
    """Run the command; before anything loads a numerical library, keep it to one thread."""
    use_one_thread()
    app()


@app.command()
def planted(
    mode: Annotated[Mode, typer.Option(help="Stop at the first test that notices, or run all.")] = Mode.FIRST,
    fault: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    workers: Workers = 2,
    out: Out = Path("planted"),
) -> None:
    """Put every fault on trial; exit 1 unless each is noticed, and measured to be what it declares."""
    verdicts, screen = carry_out(Campaign.try_all, show_line, fault or list(CATALOGUE), mode, workers, out)
    show_summary(screen.console, verdicts)
    raise typer.Exit(0 if all(verdict.accepted() for verdict in verdicts) else 1)


@app.command()
def prove(
    name: Annotated[str, typer.Argument(help="Name of the fault, which is the name of its file.")],
    mode: Annotated[Mode, typer.Option(help="Name the tests that notice first, or all that notice.")] = Mode.FIRST,
    workers: Workers = 2,
    out: Annotated[Path | None, typer.Option(help="Folder, planted/NAME when left out.")] = None,
) -> None:
    """Show which tests notice one fault, and that its closed form is measured; exit 1 unless both hold."""
    (verdict,), _ = carry_out(Campaign.try_one, show_story, [name], mode, workers, out or Path("planted", name))
    raise typer.Exit(0 if verdict.accepted() else 1)


@app.command()
def why(
    fault: Annotated[str, typer.Argument(help="Name of the fault.")],
    test: Annotated[str, typer.Argument(help="Node id or path; the whole suite when left out.")] = "tests/properties",
) -> None:
    """Run a test under a fault in the foreground, up to the first failure; exit 1 when nothing fails."""
    failed, hits = explain(known(fault), [test])
    typer.echo(f"{CATALOGUE[fault].seam} was called {hits} times under {fault}")
    raise typer.Exit(0 if failed else 1)


def known(name: str) -> Fault:
    """The fault of that name; a wrong name ends the command with the nearest right ones."""
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, n=3) or list(CATALOGUE)
        raise typer.BadParameter(f"there is no fault {name!r}; did you mean {', '.join(near)}?")
    return CATALOGUE[name]


def carry_out(
    how: Callable[[Campaign], list[Verdict]],
    show: Callable[[Console, Verdict], None],
    names: list[str],
    mode: Mode,
    workers: int,
    out: Path,
) -> tuple[list[Verdict], Screen]:
    """Run a campaign over faults of the catalogue; a void one ends the command with its reason."""
    faults = {name: known(name) for name in names}
    declared = read_equivalents(Path(__file__).with_name("equivalents.toml"), CATALOGUE)
    plan = Plan(faults, out, equivalent=declared, first_kill=mode is Mode.FIRST, workers=workers)
    screen = Screen(show)
    try:
        return run(plan, screen, how), screen
    except RuntimeError as error:
        screen.console.print(f"void: {error}", style="red", markup=False, soft_wrap=True)
        screen.console.print(f"what was printed meanwhile is in {out / 'parent.log'}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error

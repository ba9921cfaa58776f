"""The commands of `python -m mutation`."""

import random
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from faults import CATALOGUE, WEAKENED
from mutation.asked import declared, equivalents, exported, known, noticed_before, refused
from mutation.campaign import Campaign
from mutation.case import Verdict
from mutation.expectations import Expectations
from mutation.export.terminal import show_matrix
from mutation.killers import keep_killers
from mutation.lint import lint
from mutation.nightly import nightly as every_night
from mutation.plan import Plan
from mutation.run import run
from mutation.scale.dask_executor import spread_out
from mutation.scale.merge import merge as merged
from mutation.scale.shards import faults_of, read_shard
from mutation.screen import Screen
from mutation.sensitivity import forms, insensitive, sensitivities, suite_for
from mutation.sensitivity import write as write_sensitivities
from mutation.show import show_line, show_sensitivities, show_story, show_summary
from mutation.single_thread import use_one_thread
from mutation.source.run import Wish
from mutation.source.run import run as mutate
from mutation.why import explain

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Would the suite notice?")

Out = Annotated[Path, typer.Option(help="Folder for cells.jsonl and summary.json.")]
Workers = Annotated[int, typer.Option(min=1, help="Children at a time.")]


class Mode(StrEnum):
    """How much of the matrix of faults and tests is run."""

    FIRST = "first"
    MATRIX = "matrix"


class Executor(StrEnum):
    """What runs the parts of a campaign."""

    LOCAL = "local"
    DASK = "dask"


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
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the campaign that was interrupted.")] = False,
    cache: Annotated[bool, typer.Option(help="Take what has not changed from earlier campaigns in the folder.")] = True,
    verify: Annotated[float, typer.Option(min=0, max=1, help="Share of it that runs again, at least one.")] = 0.05,
    cold: Annotated[bool, typer.Option("--cold", help="Each fault in a fresh process, on before collection.")] = False,
    suite: Annotated[list[str] | None, typer.Option(help="Another suite, or tests of it; may be repeated.")] = None,
    memory: Annotated[float, typer.Option(min=0.5, help="GiB that a child and what it starts may hold.")] = 6.0,
    audit: Annotated[float, typer.Option(min=0, max=1, help="Share of what no fault reaches that runs too.")] = 0.002,
    shard: Annotated[str | None, typer.Option(help="Only part I of N of the faults, as I/N; see merge.")] = None,
    executor: Annotated[
        Executor, typer.Option(help="Where it runs: here, or one part per worker of Dask.")
    ] = Executor.LOCAL,
    scheduler: Annotated[str | None, typer.Option(help="Of Dask; local workers are started without one.")] = None,
) -> None:
    """Put every fault on trial; exit 1 unless each is noticed, and measured to be what it declares.

    Where every fault meets every test that enters its seam, each test must also notice one.
    """
    faults = {name: known(name) for name in fault or CATALOGUE}
    for path in suite or []:
        if not Path(path.partition("::")[0]).exists():
            raise typer.BadParameter(f"--suite {path}: there is no such file or folder")
    if executor is Executor.DASK:
        if shard or resume:
            raise typer.BadParameter("--executor dask parts the campaign itself: leave --shard and --resume out")
        options = [part for name in faults for part in ("--fault", name)] + [f"--mode={mode}", f"--memory={memory}"]
        options += [f"--audit={audit}", f"--verify={verify}", *(["--cold"] if cold else [])]
        options += [*([] if cache else ["--no-cache"]), *(f"--suite={path}" for path in suite or [])]
        across(options, len(faults), out, scheduler, workers)
        report(out)
    if scheduler:
        raise typer.BadParameter("--scheduler is where --executor dask runs a campaign: give both, or none")
    try:
        part = read_shard(shard) if shard else None
        mine = faults_of(list(faults), part) if part else list(faults)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    plan = Plan(
        {name: faults[name] for name in mine},
        out,
        suite=suite or Plan.suite,
        effects="" if suite else Plan.effects,
        equivalent=equivalents(),
        killers=noticed_before(),
        sentinels=True,
        first_kill=mode is Mode.FIRST,
        workers=workers,
        memory=memory,
        cache=cache and not (cold or suite),
        cold=cold,
        resume=resume,
        share=verify,
        audit=audit,
        shard=part,
        asked=list(faults),
    )
    expectations = Expectations({}, {}) if suite else declared()
    verdicts, screen = carry_out(Campaign.try_all, show_line, plan)
    told = exported(out, expectations)
    show_summary(screen.console, verdicts, [entry["name"] for entry in told["faults"] if entry["reason"]])
    show_matrix(screen.console, told, out)
    raise typer.Exit(0 if told["passed"] else 1)


@app.command()
def merge(
    folders: Annotated[list[Path], typer.Argument(help="Of all shards of a campaign.")],
    out: Out = Path("planted"),
) -> None:
    """Put the parts of a campaign together; then as `report`."""
    with refused():
        merged(folders, out)
    report(out)


@app.command()
def nightly(
    workers: Workers = 2,
    fresh: Annotated[int, typer.Option(min=0, help="Faults that run once more in fresh processes.")] = 5,
    audit: Annotated[float, typer.Option(min=0, max=1, help="Share of what no fault reaches that runs too.")] = 0.02,
    seed: Annotated[int | None, typer.Option(help="Of what is drawn; another one each time when left out.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="Mutants of the source that are drawn.")] = 1000,
    out: Annotated[Path, typer.Option(help="Folder for nightly.json, and one for each part.")] = Path("nightly"),
) -> None:
    """Run the source campaign, the whole matrix, and some faults in fresh processes; exit 1 unless all is well."""
    drawn = random.randrange(2**32) if seed is None else seed
    with refused():
        good = every_night(out, list(CATALOGUE), workers, fresh, audit, drawn, sample, typer.echo)
        raise typer.Exit(0 if good else 1)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder that `planted` has filled.")] = Path("planted"),
) -> None:
    """Write matrix.html, matrix.json, junit.xml and elements.json of a campaign; exit 1 unless it passes."""
    told = exported(folder, declared())
    show_matrix(Console(highlight=False, soft_wrap=True), told, folder)
    raise typer.Exit(0 if told["passed"] else 1)


@app.command()
def prove(
    name: Annotated[str, typer.Argument(help="Name of the fault, which is the name of its file.")],
    mode: Annotated[Mode, typer.Option(help="Name the tests that notice first, or all that notice.")] = Mode.FIRST,
    workers: Workers = 2,
    out: Annotated[Path | None, typer.Option(help="Folder, planted/NAME when left out.")] = None,
) -> None:
    """Show which tests notice one fault, and that its closed form is measured; exit 1 unless both hold."""
    plan = Plan(
        {name: known(name)},
        out or Path("planted", name),
        equivalent=equivalents(),
        killers=noticed_before(),
        first_kill=mode is Mode.FIRST,
        workers=workers,
    )
    (verdict,), _ = carry_out(Campaign.try_one, show_story, plan)
    raise typer.Exit(0 if verdict.accepted() else 1)


@app.command()
def sensitivity(
    fault: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    strength: Annotated[list[float] | None, typer.Option(help="A share of the fault; may be repeated.")] = None,
    aim: Annotated[float, typer.Option(help="Strength at which each fault should be noticed.")] = 1e-4,
    workers: Workers = 2,
    out: Annotated[Path, typer.Option(help="Folder for cells.jsonl and sensitivity.json.")] = Path("sensitivity"),
) -> None:
    """Show how weak a fault may be before the test that notices it no longer does; exit 1 above the aim."""
    names = list(fault or [name.partition("@")[0] for name in WEAKENED])
    with refused():
        weak = forms(names, strength or [10.0**-power for power in range(1, 9)])
        noticed = noticed_before()
        tests = suite_for(names, noticed)
    first = {form: noticed[form.partition("@")[0]] for form in weak}
    plan = Plan(weak, out, "faults:WEAKENED", tests, "", killers=first, workers=workers, asked=list(weak))
    verdicts, screen = carry_out(Campaign.try_all, show_line, plan)
    found = sensitivities(verdicts)
    write_sensitivities(found, aim, out / "sensitivity.json")
    show_sensitivities(screen.console, found)
    unseen = insensitive(found, aim)
    for line in unseen:
        screen.console.print(line, style="red", markup=False)
    raise typer.Exit(1 if unseen else 0)


@app.command()
def why(
    fault: Annotated[str, typer.Argument(help="Name of the fault.")],
    test: Annotated[str, typer.Argument(help="Node id or path; the whole suite when left out.")] = "tests/properties",
) -> None:
    """Run a test under a fault in the foreground, up to the first failure; exit 1 when nothing fails."""
    try:
        failed, hits = explain(known(fault), f"faults:CATALOGUE:{fault}", [test])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    typer.echo(f"{CATALOGUE[fault].seam} was called {hits} times under {fault}")
    raise typer.Exit(0 if failed else 1)


@app.command()
def killers(folder: Annotated[Path, typer.Argument(help="What a campaign wrote.")] = Path("planted")) -> None:
    """Keep which test noticed each fault, for later campaigns to try first."""
    with refused():
        kept = keep_killers(folder, CATALOGUE)
    typer.echo(f"{kept} of {len(CATALOGUE)} faults have a test that is tried first")


@app.command(name="lint")
def check() -> None:
    """Check the faults' seams, and what the suite calls and starts while it is collected; exit 1 on a problem."""
    with refused():
        problems, remarks = lint(CATALOGUE, [*Plan.suite, Plan.effects])
    for remark in remarks:
        typer.echo(f"note: {remark}")
    for problem in problems:
        typer.echo(problem)
    typer.echo(f"{len(problems)} problems in {len(CATALOGUE)} faults and their suite")
    raise typer.Exit(1 if problems else 0)


@app.command()
def source(
    only: Annotated[list[str] | None, typer.Option(help="A module, function or mutant; may be repeated.")] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Run only the modules that changed.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Keep nothing of an earlier run.")] = False,
    matrix: Annotated[bool, typer.Option("--matrix", help="Run every test under every mutant.")] = False,
    sample: Annotated[int | None, typer.Option(min=1, help="Draw that many mutants and run those.")] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    workers: Workers = 2,
    out: Annotated[Path, typer.Option(help="Folder for source.json.")] = Path("mutants"),
) -> None:
    """Mutate the source with mutmut; exit 1 unless both scores are good enough and every equivalent is one."""
    if fresh and changed:
        raise typer.BadParameter("--fresh keeps no verdict and --changed keeps most of them: give one of the two")
    console = Console(highlight=False, soft_wrap=True)
    try:
        good = mutate(Wish(Path.cwd(), out, only or [], fresh, changed, matrix, workers, sample, seed), console)
    except (RuntimeError, ValueError) as error:
        console.print(f"void: {error}", style="red", markup=False)
        raise typer.Exit(1) from error
    raise typer.Exit(0 if good else 1)


def across(options: list[str], faults: int, out: Path, scheduler: str | None, workers: int) -> None:
    """Run a campaign over the workers of Dask; what keeps it from its end ends the command."""
    command = [sys.executable, "-m", "mutation", "planted", *options, f"--workers={workers if scheduler else 1}"]
    try:
        spread_out(command, faults, out, scheduler, workers, typer.echo)
    except (RuntimeError, ValueError, OSError) as error:
        typer.secho(f"void: {error}", fg="red", err=True)
        raise typer.Exit(1) from error


def carry_out(
    how: Callable[[Campaign], list[Verdict]], show: Callable[[Console, Verdict], None], plan: Plan
) -> tuple[list[Verdict], Screen]:
    """Run a campaign; a void or interrupted one ends the command with its reason."""
    screen = Screen(show)
    try:
        return run(plan, screen, how), screen
    except RuntimeError as error:
        screen.console.print(f"void: {error}", style="red", markup=False, soft_wrap=True)
        screen.console.print(
            f"what was printed meanwhile is in {plan.out / 'parent.log'}", markup=False, soft_wrap=True
        )
        raise typer.Exit(1) from error
    except OSError as error:
        screen.console.print(f"stopped: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
    except ValueError as error:
        screen.console.file.close()
        raise typer.BadParameter(str(error)) from error

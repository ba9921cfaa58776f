"""Verdicts in words: one line each, the table of all, and the story of one."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from mutation.case import Verdict
from mutation.sensitivity import Sensitivity
from mutation.status import Effect, Status


def colour(status: Status) -> str:
    """The colour of a status."""
    if status in (Status.KILLED, Status.EQUIVALENT):
        return "green"
    return "red" if status in (Status.SURVIVED, Status.NOT_REACHED) else "yellow"


def show_line(console: Console, verdict: Verdict) -> None:
    """Print a verdict in one line."""
    noticed = verdict.killers or verdict.unconfirmed
    line = Text.assemble(
        (f"{verdict.status:16} ", colour(verdict.status)),
        f"{verdict.name:40} ",
        (f"effect {verdict.effect:10} ", "green" if verdict.effect is Effect.MATCHED else "red"),
        f"{short(noticed[0])}{more(noticed[1:])}" if noticed else f"{len(verdict.cells)} tests ran",
    )
    console.print(line)


def show_summary(console: Console, verdicts: Sequence[Verdict], as_expected: Sequence[str] = ()) -> None:
    """Print once more what a campaign cannot pass with, and what it comes to."""
    missed = (verdict for verdict in verdicts if not verdict.accepted() and verdict.name not in as_expected)
    open_ones = sorted(missed, key=lambda verdict: verdict.name)
    for verdict in open_ones:
        console.print(f"[bold]{verdict.name}[/] is not accepted: {verdict.status}, effect {verdict.effect}")
        console.print(f"  seam {escape(verdict.fault.seam)}, called {verdict.hits} times under the fault")
        if verdict.note:
            console.print(escape(verdict.note), style="dim")
    counts = Counter(str(verdict.status) for verdict in verdicts)
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    console.print(f"{len(verdicts) - len(open_ones)} of {len(verdicts)} faults accepted: {told}")


def show_sensitivities(console: Console, found: Sequence[Sensitivity]) -> None:
    """Print the least strength at which each fault was noticed, and by which test."""
    for one in found:
        least = "never" if one.smallest is None else f"{one.smallest:g}"
        console.print(Text.assemble((f"{least:8}", "bold"), f"{one.fault:40} {short(one.test) if one.test else ''}"))


def show_story(console: Console, verdict: Verdict) -> None:
    """Print what one fault is, who noticed it and how, and whether its closed form was measured."""
    fault = verdict.fault
    year = f", {fault.year}" if fault.source else ""
    console.print(f"[bold]{verdict.name}[/] ({escape(fault.library)}{year})")
    console.print(f"  {escape(fault.mechanism)}")
    console.print(f"  source {escape(fault.source) or 'none: written to slip past the tests'}")
    console.print(f"  seam   {escape(fault.seam)}, called {verdict.hits} times under the fault")
    console.print(
        f"[{colour(verdict.status)}]{verdict.status}[/]: {len(verdict.killers)} of {len(verdict.cells)} tests that ran"
    )
    for test in verdict.killers:
        console.print(f"  {escape(test)}")
        console.print(f"    {escape(brief(verdict.cells[test].message))}", style="dim")
    for test in verdict.unconfirmed:
        console.print(f"  {escape(test)} failed once, and not again")
    silent = {
        test: cell for test, cell in verdict.cells.items() if test not in (*verdict.killers, *verdict.unconfirmed)
    }
    for kind, count in Counter(cell.kind for cell in silent.values()).items():
        console.print(f"  {count} others: {kind}")
    mark = "green" if verdict.effect is Effect.MATCHED else "red"
    console.print(f"[{mark}]effect {verdict.effect}[/]: closed form {escape(fault.effect)}")
    for test, cell in verdict.effects.items():
        console.print(f"  {escape(short(test))}: {cell.kind} {escape(cell.message)}")
        for name, value in cell.properties.items():
            console.print(f"    {name}: {escape(str(value))}")
    if verdict.note:
        console.print(escape(verdict.note), style="dim")


def short(test: str) -> str:
    """A node id without its folders."""
    return test.rpartition("/")[2]


def more(others: Sequence[str]) -> str:
    """How many more there are."""
    return f" and {len(others)} more" if others else ""


def brief(message: str) -> str:
    """A message in one line."""
    return " ".join(message.split())[:160]

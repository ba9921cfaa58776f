"""A finished campaign in words: the table of all faults, and the story of one."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mutation.case import Verdict
from mutation.screen import colour
from mutation.status import Effect


def show_summary(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Print one line per fault, those that need attention first, and what the campaign comes to."""
    table = Table(box=None, header_style="bold")
    for heading in ("fault", "status", "effect", "noticed by", "note"):
        table.add_column(heading, overflow="fold")
    for verdict in sorted(verdicts, key=lambda verdict: (verdict.accepted(), verdict.name)):
        table.add_row(
            verdict.name,
            f"[{colour(verdict.status)}]{verdict.status}[/]",
            verdict.effect,
            escape(short(verdict.killers[0])) + more(verdict.killers[1:]) if verdict.killers else "",
            escape(verdict.note[:200]),
        )
    console.print(table)
    counts = Counter(str(verdict.status) for verdict in verdicts)
    accepted = sum(verdict.accepted() for verdict in verdicts)
    console.print(f"{accepted} of {len(verdicts)} accepted; " + ", ".join(f"{n} {name}" for name, n in counts.items()))


def show_story(console: Console, verdict: Verdict) -> None:
    """Print what one fault is, who noticed it and how, and whether its closed form was measured."""
    fault = verdict.fault
    console.print(f"[bold]{verdict.name}[/] ({escape(fault.library)}, {fault.year})")
    console.print(f"  {escape(fault.mechanism)}")
    console.print(f"  source  {escape(fault.source)}")
    console.print(f"  seam    {escape(fault.seam)}, called {verdict.hits} times under the fault")
    console.print(
        f"[{colour(verdict.status)}]{verdict.status}[/] by {len(verdict.killers)} of {len(verdict.cells)} tests"
    )
    for test in verdict.killers:
        console.print(f"  {escape(test)}")
        console.print(f"    {escape(first_line(verdict.cells[test].message))}", style="dim")
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


def first_line(message: str) -> str:
    """The first line of a message."""
    return message.partition("\n")[0]

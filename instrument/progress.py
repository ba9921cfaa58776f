"""The bar that long work shows: what it does now, how much is done, and how long the rest will take."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Made = TypeVar("Made")


def shown(making: Iterable[Made], names: Sequence[str], console: Console) -> Iterator[Made]:
    """Each of what is made in turn, while a bar names the one that is being made."""
    with progress_bar(console) as progress:
        task = progress.add_task(names[0], total=len(names))
        for number, made in enumerate(making, start=1):
            yield made
            progress.update(task, advance=1, description=names[min(number, len(names) - 1)])


def progress_bar(console: Console, by_itself: bool = True) -> Progress:
    """A bar that goes when the work is done; nothing where the console is no terminal.

    Args:
        by_itself: a thread refreshes it; such a thread could hold a lock while a process is forked.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        # Of all that is done so far, since single pieces differ by far.
        TimeRemainingColumn(elapsed_when_finished=False),
        console=console,
        transient=True,
        auto_refresh=by_itself,
        speed_estimate_period=3600.0,
    )

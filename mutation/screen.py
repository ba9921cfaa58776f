"""Progress of a campaign on the terminal."""

import os
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mutation.case import Verdict
from mutation.cells import Cell, Ran
from mutation.show import colour
from mutation.status import Status


class Screen:
    """What is settled, and below it what is going on.

    Writes to a copy of the standard output, since the campaign sends that one to a file while it runs. Draws only when
    something happens: a thread that draws would make every fork unsafe.
    """

    def __init__(self, show: Callable[[Console, Verdict], None]) -> None:
        self.show = show
        self.console = Console(file=os.fdopen(os.dup(1), "w"), highlight=False, soft_wrap=True)
        self.live = Live(
            console=self.console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self.stage_name, self.total, self.through = "collecting", 0, 0
        self.counts: Counter[Status] = Counter()
        self.running: dict[str, str] = {}
        self.began = time.monotonic()

    def __enter__(self) -> "Screen":
        self.live.start()
        self.draw()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.live.stop()

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of so many tests or faults."""
        self.stage_name, self.total, self.through = name, total, 0
        self.began = time.monotonic()
        self.running.clear()
        self.draw()

    def cell(self, ran: Ran, test: str, cell: Cell) -> None:
        """Show that a test has ended."""
        if ran.job.name == "baseline":
            self.through += 1
        else:
            self.running[ran.job.name] = f"{cell.kind} {test.rpartition('/')[2]}"
        self.draw()

    def verdict(self, verdict: Verdict) -> None:
        """Show that a fault is decided."""
        self.running.pop(verdict.name, None)
        self.counts[verdict.status] += 1
        self.through += 1
        self.show(self.console, verdict)
        self.draw()

    def green(self, what: str) -> None:
        """Show that tests are green where they must be."""
        self.console.print(Text.assemble(("green", "green"), f" {what}"))

    def draw(self) -> None:
        """Draw the stage, the counts and what runs."""
        spent = time.monotonic() - self.began
        left = f", about {spent / self.through * (self.total - self.through):.0f} s left" if self.through else ""
        head = Text(f"{self.stage_name}: {self.through} of {self.total}, {spent:.0f} s{left}", style="bold")
        table = Table.grid(padding=(0, 2))
        for status in Status:
            if self.counts[status]:
                table.add_row(Text(str(self.counts[status]), style=colour(status)), status)
        for name, last in self.running.items():
            table.add_row("...", f"{name}: {last}")
        self.live.update(Group(head, table), refresh=True)

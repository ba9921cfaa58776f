"""The matrix in a few lines of the terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape


def show_matrix(console: Console, document: dict[str, Any], folder: Path) -> None:
    """Print what a campaign says of its tests, and what it cannot pass with."""
    analysis = document["analysis"]
    if analysis:
        alone = [f"{test['id']} ({len(test['unique'])})" for test in document["tests"] if test["unique"]]
        bound = "" if analysis["smallest"]["exact"] else " or fewer"
        show_some(console, "tests kill nothing", analysis["idle"])
        show_some(console, "tests kill what no other test kills", alone)
        show_some(console, "groups of faults have the same killers", [", ".join(one) for one in analysis["duplicates"]])
        console.print(f"{len(analysis['smallest']['tests'])} tests{bound} still kill all that is killed")
    if document["problems"]:
        show_some(console, "in the way", document["problems"], limit=10)
    console.print(f"matrix.html, matrix.json, junit.xml and elements.json are in {escape(str(folder))}")


def show_some(console: Console, what: str, names: Sequence[str], limit: int = 3) -> None:
    """Print how many there are, and the first of them."""
    console.print(f"[bold]{len(names)}[/] {what}")
    for name in names[:limit]:
        console.print(f"  {escape(name)}")
    if len(names) > limit:
        console.print(f"  and {len(names) - limit} more", style="dim")

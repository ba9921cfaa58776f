"""What `weighbridge run` prints: the verdict, where it arises, what to do, which tokens."""

from rich.console import Console
from rich.text import Text

from ..record import Row, Window
from .finding import FAULT, WARNING
from .outcome import FAULTY, OK, Outcome
from .tokens import Run, runs_of

LINK = "docs/verdicts.md"


def tell(console: Console, outcome: Outcome) -> None:
    """Print it all, the verdict first."""
    styles = {OK: "bold green", FAULTY: "bold red"}
    line = Text("weighbridge: ")
    line.append(outcome.line(), style=styles.get(outcome.verdict(), "bold yellow"))
    show(console, line)
    for finding in outcome.findings:
        if finding.level == FAULT:
            where = f"; in {windows_of(finding.windows)} of {count(outcome)}" if finding.windows else ""
            show(console, f"  stage: {finding.stage()}{where}")
            show(console, f"  what to do: {LINK}#{finding.code}")
            for stage in outcome.stages:
                show(console, f"    {stage}")
            break
    said = outcome.line()
    for finding in outcome.findings:
        if finding.said in said:
            continue
        link = "" if finding.code == "remark" else f" [{finding.code}]"
        where = f" in {windows_of(finding.windows)}" if finding.windows else ""
        show(console, f"  {finding.level}{link}{where}: {finding.said}")
        if finding.level in (FAULT, WARNING):
            show(console, f"    {LINK}#{finding.code}")
    if outcome.record is not None:
        for number, window in enumerate(outcome.record.windows[:1]):
            show_rows(console, window, number, outcome)
        show(console, f"  measured: {outcome.model}, {summary(outcome)}")
    if outcome.leaks is not None:
        own = "; each token was taken for its own label" if outcome.own_labels else ""
        show(console, f"  leaks: {outcome.leaks}{own}")
    elif outcome.unsearched:
        show(console, f"  leaks: not searched: {outcome.unsearched}")
    for note in outcome.notes:
        show(console, f"  {note}")


def show(console: Console, line: Text | str) -> None:
    """One line, however long."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def windows_of(numbers: tuple[int, ...]) -> str:
    """Window 0, or windows 0, 1; empty for what no window shows."""
    return f"window{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}" if numbers else ""


def count(outcome: Outcome) -> int:
    """How many windows were recorded."""
    return 0 if outcome.record is None else len(outcome.record.windows)


def summary(outcome: Outcome) -> str:
    """How much was measured, and where."""
    record = outcome.record
    assert record is not None
    windows = record.windows
    parts = [f"{len(windows)} window{'s' * (len(windows) != 1)}"]
    if windows:
        first = windows[0]
        parts.append(
            f"the first with {first.targets()} targets in {len(first.rows)} rows and {first.micro_batches} "
            f"micro-batch{'es' * (first.micro_batches != 1)}"
        )
        parts.append(f"{first.reached} of {first.trainable} trainable parameters reached")
    if record.ranks > 1:
        parts.append(f"all {record.ranks} ranks")
    return f"{', '.join(parts)}; read at {record.where}"


def show_rows(console: Console, window: Window, number: int, outcome: Outcome) -> None:
    """The rows with the lightest and the heaviest token of a window, as text with weights."""
    n = max(window.targets(), 1)
    tokenizer = outcome.tokenizer
    for b in extremes(window.rows):
        row = window.rows[b]
        line = Text(f"  window {number}, row {b}, micro-batch {row.micro_batch}, w*N: ")
        parts = runs_of(row, n, tokenizer)
        for part in parts[:12]:
            line.append(f"[{shown(part)}] ", style="dim" if part.weight is None else "bold")
            text = shorten(part.text)
            line.append(f"{text if tokenizer is None else repr(text)} ", style=shade(part))
        if len(parts) > 12:
            line.append(f"and {len(parts) - 12} more runs")
        show(console, line)


def extremes(rows: list[Row]) -> list[int]:
    """At most three rows: those of the smallest and the largest weight of a target, and one that has none."""
    weighed = [b for b, row in enumerate(rows) if row.scored.any()]
    empty = [b for b in range(len(rows)) if b not in weighed]
    if not weighed:
        return empty[:1]
    low = min(weighed, key=lambda b: float(rows[b].weight[rows[b].scored].min()))
    high = max(weighed, key=lambda b: float(rows[b].weight[rows[b].scored].max()))
    return list(dict.fromkeys([low, high, *empty[:1]]))


def shown(part: Run) -> str:
    """The weight of a run; a dot for what is no target."""
    return "." if part.weight is None else "?" if part.weight != part.weight else f"{part.weight:.4g}"


def shade(part: Run) -> str:
    """Colours that a colour-blind reader can tell apart: blue is light, orange heavy."""
    if part.weight is None:
        return "dim"
    return "" if abs(part.weight - 1) < 0.005 else "blue" if part.weight < 1 else "dark_orange"


def shorten(text: str) -> str:
    """At most 60 characters, on one line."""
    text = text.replace("\n", "\\n")
    return text if len(text) <= 60 else f"{text[:28]} ... {text[-28:]}"

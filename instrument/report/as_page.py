"""docs/checks.md: what every check of `weighbridge report` expects, says and runs, from the JSON of a run.

Of the numbers only those that rounding cannot move: how many rows, places and tokens.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

HEAD = """# Every check of the report

Written by `weighbridge report --json report.json` and `python -m instrument.report report.json`, held to a run by
the tests that are marked slow. The versions are those of constraints.txt.

A check is **ok** where the installed libraries do what is expected, **known** where they do what "found" says
instead, as a public report or [a finding](findings.md) has it, and **not run** where what is installed cannot.
"Run" is what went through the trainer: windows (optimizer steps) behind each other, micro-batches with a `+`
between, and of each row its number and how many of its tokens should weigh anything: `0:4 1:2 + 2:3 3:1 / 4:2` is a
window of two micro-batches of two rows and one of a single row; with label smoothing each micro-batch stands twice,
for what its targets keep and for what is spread. Of a search for leaks it is how many documents read how many
others. "Changed" names what the loop sets differently from the trainer's own defaults, by the letters under [what
is changed](#what-is-changed).
"""
TITLES = ("check", "status", "expected", "found", "run", "changed")


def page(checks: Sequence[Mapping[str, Any]]) -> str:
    """The whole page.

    Args:
        checks: as `weighbridge report --json` writes them, under that name.
    """
    labels: dict[str, str] = {}
    for check in checks:
        for text in changes(check):
            labels.setdefault(text, letters(len(labels)))
    lines = [HEAD]
    for group in dict.fromkeys(check["group"] for check in checks):
        mine = [check for check in checks if check["group"] == group]
        lines += [f"## {group}: {len(mine)}", "", cells(TITLES), cells(["---"] * len(TITLES))]
        lines += [*(line(check, labels) for check in mine), ""]
    lines += ["## What is changed", "", *(legend(label, text) for text, label in labels.items())]
    return "\n".join(lines) + "\n"


def line(check: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """One check as a row of its table; a change without a label stands in full."""
    told = without_rounding(check["measured"])
    ran = " / ".join(shape(check["report"]))
    changed = " ".join(labels.get(text, text) for text in changes(check))
    return cells([check["name"], check["status"], check["expected"], told, f"`{ran}`" if ran else "", changed])


def labels_of(text: str) -> dict[str, str]:
    """What each letter of a written page stands for, as `line` takes it."""
    found = re.findall(r"^- \*\*(\w+)\*\* (.*)$", text, re.MULTILINE)
    return {change: label for label, change in found}


def legend(label: str, text: str) -> str:
    """A change and its letters."""
    return f"- **{label}** {text}"


def changes(check: Mapping[str, Any]) -> list[str]:
    """What the check sets differently from the defaults, each with its reason."""
    return [f"`{name}` = {text}" for name, text in check["report"].get("changes", {}).items()]


def shape(found: Mapping[str, Any]) -> Iterator[str]:
    """What went through, window by window; of a search for leaks, its documents."""
    if found.get("instrument") == "leak":
        yield f"{len(found['sequences'])} documents, {len(found['pairs'])} times one reads another"
    for window in found.get("windows", ()):
        if isinstance(window, Mapping):
            yield by_micro_batch(window["rows"])
        else:
            yield " + ".join(" ".join(map(row, batch["numbers"], batch["expected"])) for batch in window)


def by_micro_batch(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of a probed window, by their place in it, in the order of its micro-batches."""
    batches: dict[int, list[str]] = {}
    for number, each in enumerate(rows):
        batches.setdefault(each["micro_batch"], []).append(row(number, each["intended"]))
    return " + ".join(" ".join(batches[at]) for at in sorted(batches))


def row(number: int, weights: Sequence[float]) -> str:
    """Its number, and how many of its tokens weigh something."""
    return f"{number}:{sum(weight != 0 for weight in weights)}"


def without_rounding(text: str) -> str:
    """The text without figures of four decimals or more, in which machines differ."""
    return re.sub(r"\d+\.\d{4,}", "...", text)


def letters(number: int) -> str:
    """a to z, then aa, ab and so on."""
    first, last = divmod(number, 26)
    return (letters(first - 1) if first else "") + chr(ord("a") + last)


def cells(texts: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"

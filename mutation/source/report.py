"""What a run over the source prints and writes."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from mutation.journal import versions
from mutation.source.mutant import Outcome, function_of
from mutation.source.result import Result
from mutation.source.score import MISSED, Counts, assertion, interval, raw


def show(console: Console, result: Result, diffs: Mapping[str, str], sampled: bool = False) -> None:
    """Print what nobody noticed, with its diff, then the two scores of each module, then what is wrong.

    Args:
        sampled: whether the mutants are a sample, of which the scores of all are estimates.
    """
    for mutant in result.open_ones():
        by = f", {len(mutant.kills)} tests failed" if mutant.kills else ""
        console.print(Text.assemble((mutant.outcome, "bold red"), f" {function_of(mutant.name)} ({mutant.name}{by})"))
        console.print(Syntax(body(diffs[mutant.name]), "diff", background_color="default"))
    total: Counter[Outcome] = Counter()
    for counts in result.modules().values():
        total.update(counts)
    found = [outcome for outcome in Outcome if total[outcome]]
    table = Table("module", *found, "raw", "by assertion")
    for column in table.columns[1:]:
        column.justify = "right"
    for path, counts in result.modules().items():
        table.add_row(path, *row(counts, found))
    table.add_section()
    table.add_row("all", *row(total, found), style="bold")
    console.print(table)
    if sampled:
        console.print(estimates(total))
    for sentence in result.wrong:
        console.print(Text(sentence, style="red"))


def row(counts: Counts, columns: Iterable[Outcome]) -> list[str]:
    """One line of the table, without its name."""
    ends = [str(counts.get(outcome) or "") for outcome in columns]
    return [*ends, *("-" if score is None else f"{score:.1%}" for score in (raw(counts), assertion(counts)))]


def estimates(total: Counts) -> str:
    """Where the two scores of all mutants lie, as far as a sample tells."""
    judged = total.get(Outcome.ASSERTED, 0) + sum(total.get(end, 0) for end in MISSED)
    told = []
    for name, score, number in (
        ("raw", raw(total), sum(total.values()) - total.get(Outcome.EQUIVALENT, 0)),
        ("by assertion", assertion(total), judged),
    ):
        if score is not None:
            low, high = interval(score, number)
            told.append(f"{name} between {low:.1%} and {high:.1%}")
    return f"{sum(total.values())} mutants were drawn; of all mutants, with 95 % confidence: {', '.join(told)}"


def body(diff: str) -> str:
    """A diff without the lines that name its file."""
    return "\n".join(diff.splitlines()[2:])


def write(
    file: Path, result: Result, diffs: Mapping[str, str], mode: str, seconds: float, sample: int | None, seed: int
) -> None:
    """Write scores, every mutant and its killers; the diffs of those that nobody noticed.

    Args:
        sample: how many were asked to be drawn, by that seed; None where all were run.
    """
    total: Counter[Outcome] = Counter()
    for counts in result.modules().values():
        total.update(counts)
    written = {
        "mode": mode,
        "drawn": None if sample is None else {"asked": sample, "seed": seed},
        "seconds": round(seconds, 1),
        "total": plain(total),
        "modules": {path: plain(counts) for path, counts in result.modules().items()},
        "wrong": list(result.wrong),
        "mutants": {
            mutant.name: {
                "file": mutant.path,
                "outcome": mutant.outcome,
                "kills": mutant.kills,
                **({"diff": diffs[mutant.name]} if mutant.name in diffs else {}),
            }
            for mutant in result.mutants
        },
        "versions": versions(),
    }
    half = file.with_suffix(".part")
    half.write_text(json.dumps(written, indent=1) + "\n")
    half.rename(file)


def plain(counts: Counts) -> dict[str, object]:
    """Counts and both scores, as what JSON can hold."""
    ends = {str(outcome): counts.get(outcome, 0) for outcome in Outcome}
    return {**ends, "mutants": sum(counts.values()), "raw": raw(counts), "assertion": assertion(counts)}

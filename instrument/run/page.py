"""A run as one HTML file that loads nothing: the verdict, rows as text shaded by weight, plots, what was measured."""

from importlib.resources import files
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined

from ..ledger import Entry
from ..record import Row, Window, installed
from . import charts
from .as_json import plain, runs_of_samples
from .outcome import Outcome
from .tell import LINK, windows_of
from .tokens import text_of

ENTRIES = 200


def page(outcome: Outcome) -> str:
    """The page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files(__package__).joinpath("page.html").read_text())
    windows = [] if outcome.record is None else outcome.record.windows
    tokenizer = outcome.tokenizer
    entries = runs_of_samples(outcome)
    drawn = windows if find_spec("matplotlib") is not None else []
    return template.render(
        outcome=outcome,
        verdict=outcome.verdict(),
        line=outcome.line(),
        findings=[(finding, windows_of(finding.windows)) for finding in outcome.findings],
        link=LINK,
        options={name: plain(value) for name, value in outcome.options.items()},
        changes={name: (plain(change.value), plain(change.default)) for name, change in outcome.changes.items()},
        versions=installed() if outcome.record is None else outcome.record.versions,
        windows=[(window, strips(window, tokenizer)) for window in windows],
        chart=charts.by_micro_batch(drawn) if drawn else "",
        stage_chart=charts.by_stage(shown_window(outcome, drawn)) if drawn else "",
        maps=[charts.by_place(window) for window in drawn],
        leak_map=charts.leak_map(outcome.leaks) if outcome.leaks is not None and drawn else "",
        entries=[(entry, divided(entry)) for entry in entries[:ENTRIES]],
        left_out=max(len(entries) - ENTRIES, 0),
    )


def shown_window(outcome: Outcome, windows: list[Window]) -> Window:
    """The first window that has a fault, or the first."""
    faulty = [number for finding in outcome.findings if finding.level == "fault" for number in finding.windows]
    return windows[min(faulty, default=0)]


def divided(entry: Entry) -> str:
    """What the targets of a sample were divided by, as text."""
    if not entry.targets:
        return "no target"
    return "not one number" if np.isnan(entry.divisor) else f"{entry.divisor:.6g}"


def strips(window: Window, tokenizer: Any) -> list[tuple[Row, list[tuple[str, str, str]]]]:
    """Each row, and of each run of tokens of the same class its text, class and weight.

    Classes are 13 steps of the logarithm of w*N: one step is a factor of 2 to the 1/2, 6 is 1.
    """
    n = max(window.targets(), 1)
    return [(row, strip(row, n, tokenizer)) for row in window.rows]


def strip(row: Row, n: int, tokenizer: Any) -> list[tuple[str, str, str]]:
    """One row: (text, class, weight as text) of neighbours that look the same."""
    looks = [("none", "no target")]
    for weight, scored, intended in zip(row.weight, row.scored, row.intended):
        if weight == 0 and not (scored or intended):
            looks.append(("none", "no target"))
        elif np.isnan(weight):
            looks.append(("unknown", "?"))
        elif weight == 0:
            looks.append(("zero", "0"))
        else:
            step = int(np.clip(round(6 + 2 * float(np.log2(abs(weight) * n))), 0, 12))
            looks.append((f"{'m' if weight < 0 else 'w'}{step}", f"{weight * n:.3g}"))
    looks = looks[: row.ids.size]
    cuts = [0, *(i for i in range(1, len(looks)) if looks[i] != looks[i - 1]), len(looks)]
    return [(text_of(row.ids[a:b], tokenizer), *looks[a]) for a, b in pairwise(cuts)]

"""A run as one HTML file that loads nothing: the verdict, rows as text shaded by weight, a chart, what was measured."""

import io
from importlib.resources import files
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined

from ..record import Row, Window, installed
from .as_json import plain
from .outcome import Outcome
from .tell import LINK, decodes, windows_of
from .tokens import text_of


def page(outcome: Outcome) -> str:
    """The page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files(__package__).joinpath("page.html").read_text())
    windows = [] if outcome.record is None else outcome.record.windows
    tokenizer = outcome.tokenizer if decodes(outcome) else None
    return template.render(
        outcome=outcome,
        verdict=outcome.verdict(),
        line=outcome.line(),
        findings=[(finding, windows_of(finding.windows)) for finding in outcome.findings],
        link=LINK,
        options={name: plain(value) for name, value in outcome.options.items()},
        versions=installed() if outcome.record is None else outcome.record.versions,
        windows=[(window, strips(window, tokenizer)) for window in windows],
        chart=chart(windows) if windows else "",
    )


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


def chart(windows: list[Window]) -> str:
    """The weights of all targets, times N, micro-batch by micro-batch, as SVG; empty without matplotlib."""
    if find_spec("matplotlib") is None:
        return ""
    # Not pyplot, whose backend and open figures are those of whoever draws in this process.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "weighbridge", "font.size": 9}):
        figure = Figure(figsize=(7, 2.2))
        axes = figure.subplots(1, len(windows), sharey=True, squeeze=False)
        for number, (window, axis) in enumerate(zip(windows, axes[0])):
            groups = sorted({(row.rank, row.micro_batch) for row in window.rows})
            n = max(window.targets(), 1)
            for at, group in enumerate(groups):
                rows = [row for row in window.rows if (row.rank, row.micro_batch) == group]
                weights = np.concatenate([row.weight[row.scored] for row in rows]) * n
                weights = weights[np.isfinite(weights)]
                if weights.size:
                    low, middle, high = weights.min(), np.median(weights), weights.max()
                    axis.plot([at, at], [low, high], color="#0072b2", linewidth=3, solid_capstyle="round")
                    axis.plot([at], [middle], "o", color="#0072b2")
            axis.axhline(1, color="#555555", linestyle=":", linewidth=1)
            axis.set_title(f"window {number}", loc="left")
            axis.set_xlabel("micro-batch" if window.ranks == 1 else "micro-batch, rank by rank")
            axis.set_xlim(-0.6, max(len(groups) - 0.4, 1.6))
            axis.spines[["top", "right"]].set_visible(False)
        axes[0][0].set_ylabel("w*N (right: 1)")
        # Rounding must not fill the axis.
        bottom, top = axes[0][0].get_ylim()
        axes[0][0].set_ylim(min(bottom, 0), max(top, 1.5))
        figure.tight_layout()
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()[out.getvalue().index("<svg") :]

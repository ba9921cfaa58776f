"""The plots of the page, as SVG: weights by micro-batch, weights by place, what was right at which stage, leaks.

Blue is light and orange heavy, which the colour-blind can tell apart.
"""

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..record import Floats, Window

if TYPE_CHECKING:
    from ..leak_record import Leaks


def svg(draw: Callable[[Any], None], width: float, height: float) -> str:
    """What `draw` puts on a figure of so many inches."""
    # Not pyplot, whose backend and open figures are those of whoever draws in this process.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "weighbridge", "font.size": 9}):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()[out.getvalue().index("<svg") :]


def by_micro_batch(windows: Sequence[Window]) -> str:
    """The smallest, median and largest w*N of each micro-batch."""

    def draw(figure: Any) -> None:
        axes = figure.subplots(1, len(windows), sharey=True, squeeze=False)
        for number, (window, axis) in enumerate(zip(windows, axes[0])):
            groups = sorted({(row.rank, row.micro_batch) for row in window.rows})
            n = max(window.targets(), 1)
            for at, group in enumerate(groups):
                rows = [row for row in window.rows if (row.rank, row.micro_batch) == group]
                spread(axis, at, np.concatenate([row.weight[row.scored] for row in rows]) * n)
            axis.axhline(1, color="#555555", linestyle=":", linewidth=1)
            axis.set_title(f"window {number}", loc="left")
            axis.set_xlabel("micro-batch" if window.ranks == 1 else "micro-batch, rank by rank")
            axis.set_xlim(-0.6, max(len(groups) - 0.4, 1.6))
            whole_numbers(axis.xaxis)
            axis.spines[["top", "right"]].set_visible(False)
        axes[0][0].set_ylabel("w*N (right: 1)")
        # Rounding must not fill the axis.
        bottom, top = axes[0][0].get_ylim()
        axes[0][0].set_ylim(min(bottom, 0), max(top, 1.5))

    return svg(draw, 7, 2.2)


def spread(axis: Any, at: float, values: Floats) -> None:
    """A bar from the smallest to the largest of the values that are known, with a dot at their median."""
    known = values[np.isfinite(values)]
    if known.size:
        axis.plot([at, at], [known.min(), known.max()], color="#0072b2", linewidth=3, solid_capstyle="round")
        axis.plot([at], [np.median(known)], "o", color="#0072b2")


def by_place(window: Window) -> str:
    """w*N of each target, a line for each row: log2 from 1/8 to 8, white where there is no target."""
    values = places(window)

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        # From one colour to the other by way of grey; a target of the right weight must not look like no target.
        shades = figure_colours(["#2166ac", "#92c5de", "#e0e0e0", "#fdb863", "#b35806"])
        image = axis.imshow(values, cmap=shades, vmin=-3, vmax=3, aspect="auto", interpolation="nearest")
        bar = figure.colorbar(image, ax=axis, ticks=[-3, -2, -1, 0, 1, 2, 3], label="w*N")
        bar.ax.set_yticklabels(["1/8 or less", "1/4", "1/2", "1: right", "2", "4", "8 or more"])
        axis.set_xlabel("place of the target in its row")
        axis.set_ylabel("row")
        whole_numbers(axis.yaxis)
        whole_numbers(axis.xaxis)

    return svg(draw, 7.4, min(1.5 + 0.14 * len(window.rows), 5))


def places(window: Window) -> Floats:
    """[row, place] log2 of w*N of the target that stands there, cut off at 1/8 and 8; nan where there is none."""
    n = max(window.targets(), 1)
    width = max(row.ids.size for row in window.rows)
    values = np.full((len(window.rows), width), np.nan)
    for b, row in enumerate(window.rows):
        there = (row.scored | (row.weight != 0)) & np.isfinite(row.weight)
        # The weight of a target stands at its own place, one behind the position that predicts it.
        at = np.flatnonzero(there)
        at, weight = at[at + 1 < width] + 1, np.abs(row.weight[at[at + 1 < width]]) * n
        values[b, at] = np.log2(np.clip(weight, 2**-3, 2**3))
    return values


def by_stage(window: Window) -> str:
    """What arrives at each stage over what should: the weights, the sums of the gradient, the clip, the step."""
    n = max(window.targets(), 1)
    columns: list[tuple[str, Floats]] = [
        ("loss\nw*N of the\ntargets", np.concatenate([row.weight[row.scored] for row in window.rows]) * n)
    ]
    after = window.after
    if after is not None:
        columns.append(("backward\ngradient over\nsum of tokens", np.array([s.scale for s in after.sums])))
        columns.append(("clip\nfactor on the\ngradient", after.factor()))
        if after.step is not None:
            columns.append(("step\ntaken in\nby the state", after.step.consumed))
            columns.append(("step\nmoved over\nthe rule's", after.step.moved))

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        for at, (_, values) in enumerate(columns):
            known = values[np.isfinite(values)]
            spread(axis, at, known)
            if not known.size:
                axis.text(at, 1, "not told", ha="center", va="bottom", color="#555555")
        axis.axhline(1, color="#555555", linestyle=":", linewidth=1)
        axis.set_xticks(range(len(columns)), [name for name, _ in columns])
        axis.set_xlim(-0.6, len(columns) - 0.4)
        bottom, top = axis.get_ylim()
        axis.set_ylim(min(bottom, 0), max(top, 1.5))
        axis.set_ylabel("over what is right")
        axis.spines[["top", "right"]].set_visible(False)

    return svg(draw, 7.4, 2.4)


def leak_map(leaks: "Leaks") -> str:
    """[i][j] largest gradient of the loss of sequence i at a token of sequence j, over the largest at its own."""
    n, values = len(leaks.sequences), shares(leaks)

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        shades = figure_colours(["#fee8c8", "#fdb863", "#b35806", "#662506"])
        image = axis.imshow(values, cmap=shades, vmin=-8, vmax=0, interpolation="nearest")
        axis.plot(range(n), range(n), "s", color="#4393c3", markersize=max(1.0, min(8.0, 60 / n)))
        bar = figure.colorbar(image, ax=axis, ticks=[-8, -6, -4, -2, 0], label="gradient over the largest at its own")
        bar.ax.set_yticklabels(["1e-8 or less", "1e-6", "1e-4", "1e-2", "1"])
        axis.set_xlabel("tokens of sequence")
        axis.set_ylabel("loss of sequence")
        whole_numbers(axis.xaxis)
        whole_numbers(axis.yaxis)

    return svg(draw, 4.6, 3.4)


def shares(leaks: "Leaks") -> Floats:
    """[i, j] log10 of the gradient over the largest at a sequence's own tokens, 1e-8 at least; nan where it is 0."""
    values = np.full((len(leaks.sequences), len(leaks.sequences)), np.nan)
    for pair in leaks.pairs:
        values[pair.target, pair.source] = np.log10(max(pair.gradient / leaks.own, 1e-8)) if leaks.own else 0.0
    return values


def figure_colours(colours: list[str]) -> Any:
    """A map that runs through these colours; white for what is not there."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("weighbridge", colours).with_extremes(bad="white")


def whole_numbers(axis: Any) -> None:
    """No ticks between rows or places."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))

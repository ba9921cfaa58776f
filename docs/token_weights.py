"""Draw the picture of the README: the tokens of one optimizer step, shaded by what they weigh in the gradient.

    python docs/token_weights.py [FILE]

Both halves are measured in the real Trainer on four micro-batches of one row: above as it is, below with the October
2024 accumulation bug planted.
"""

import sys
from contextlib import nullcontext

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from faults import CATALOGUE, planted
from instrument import xray
from instrument.loops.trainer import run_trainer

TEXT = (
    "Yes .",
    "It is late .",
    "The train to Basel leaves at noon .",
    "A gradient is a sum over tokens , and every one of them should count the same .",
)


def measure(fault: str | None) -> list[list[float]]:
    """w*N of each token of each row but the first, which nothing predicts."""
    with planted(CATALOGUE[fault]) if fault else nullcontext():
        report = xray(
            lambda model, rows: run_trainer(model, rows, micro_batch=1, accumulation=len(rows)),
            [1 + len(row.split()) for row in TEXT],
        )
    return [(row.weight * report.windows[0].targets()).tolist() for row in report.rows]


def draw(path: str) -> None:
    """Write both measurements as one picture."""
    halves = [
        ("the installed Trainer: every token weighs 1/N", measure(None)),
        ("with the October 2024 accumulation bug: short rows count for more", measure("mean_of_micro_batch_means")),
    ]
    plt.rcParams.update({"svg.hashsalt": "weighbridge", "font.family": "monospace", "svg.fonttype": "path"})
    shade = matplotlib.colormaps["cividis_r"]
    figure, axes = plt.subplots(2, 1, figsize=(11, 4.2))
    for axis, (title, rows) in zip(axes, halves):
        axis.set_title(title, loc="left", fontsize=11)
        for line, (text, weights) in enumerate(zip(TEXT, rows)):
            left = 0.0
            for token, weight in zip(text.split(), weights):
                width = 0.9 * len(token) + 1.4
                colour = shade(min(weight / 5, 1.0))
                axis.add_patch(Rectangle((left, -line), width, 0.86, facecolor=colour))
                ink = "white" if weight > 2.5 else "black"
                axis.text(left + width / 2, 0.56 - line, token, ha="center", va="center", fontsize=9, color=ink)
                axis.text(
                    left + width / 2, 0.18 - line, f"{weight:.2g}", ha="center", va="center", fontsize=6, color=ink
                )
                left += width + 0.15
        axis.set_xlim(0, 96)
        axis.set_ylim(-len(rows) + 0.95, 1)
        axis.axis("off")
    figure.text(0.995, 0.01, "number: weight in units of 1/N", ha="right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None, dpi=150)


if __name__ == "__main__":
    draw(*sys.argv[1:] or ["docs/token_weights.svg"])

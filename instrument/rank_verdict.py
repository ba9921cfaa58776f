"""Says where the ranks of a run part: what only some of them tell, gradients and parameters that are not the same."""

from collections.abc import Iterable, Sequence

import numpy as np

from .after_ranks import different
from .after_record import After


def on_ranks(of_ranks: Sequence[tuple[list[str], list[str]]]) -> tuple[list[str], list[str]]:
    """Faults and remarks of all ranks: once what all of them say, and with the rank's name what only some do."""
    told: list[list[str]] = [[], []]
    for sentences, of_each in zip(told, zip(*of_ranks)):
        for sentence in dict.fromkeys(s for each in of_each for s in each):
            ranks = [str(r) for r, each in enumerate(of_each) if sentence in each]
            every = len(ranks) == len(of_ranks)
            sentences.append(sentence if every else f"on rank {' and '.join(ranks)}: {sentence}")
    return told[0], told[1]


def apart(found: After) -> list[str]:
    """Gradients that are not the same on all ranks behind the last backward."""
    if not found.ranks:
        return []
    names = np.array(found.reach.names, dtype=object)
    odd = names[different([after.before for after in found.ranks])]
    if not len(odd):
        return []
    return [f"the {len(found.ranks)} ranks hold different gradients of {few(odd)}, {len(odd)} of {len(names)}"]


def left_apart(found: After) -> list[str]:
    """Parameters that are not the same on all ranks behind the step."""
    steps = [after.step for after in found.ranks if after.step is not None]
    if len(steps) < 2:
        return []
    names = np.array(found.reach.names, dtype=object)
    odd = names[different([step.ended for step in steps])]
    return [f"behind the step {few(odd)} differ between the ranks, {len(odd)} of {len(names)}"] if len(odd) else []


def few(names: Iterable[str]) -> str:
    """The first names, and how many more."""
    names = list(names)
    shown = ", ".join(names[:2])
    return shown if len(names) <= 2 else f"{shown} and {len(names) - 2} more"

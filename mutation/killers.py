"""Which test notices each fault at the least cost: kept in the repository, for a campaign from nothing to try first.

Nothing else follows from it. A test that is gone, or no longer notices, costs time and no verdict.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from mutation.record import read_cells
from mutation.status import Status

FILE = Path(__file__).with_name("killers.json")


def read_killers(file: Path = FILE) -> dict[str, list[str]]:
    """The tests that noticed, by fault.

    Raises:
        ValueError: the file holds something else.
    """
    try:
        held = json.loads(file.read_text())
        return {str(fault): [str(test)] for fault, test in held.items()}
    except (AttributeError, ValueError) as error:
        raise ValueError(
            f"{file} is not a JSON object of one test by fault ({error}): write it with "
            "`python -m mutation killers DIR`"
        ) from error


def keep_killers(folder: Path, faults: Collection[str], file: Path = FILE) -> int:
    """Write down a test for each fault that the campaign in a folder killed, beside what is known of the others.

    Args:
        faults: all that there are; others are forgotten.

    Returns:
        How many faults have one now.

    Raises:
        ValueError: the folder holds no campaign that came to its end.
    """
    summary = folder / "summary.json"
    try:
        verdicts = json.loads(summary.read_text())["faults"]
        found = {name: told["killers"] for name, told in verdicts.items() if told["status"] == Status.KILLED}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{summary} holds no verdicts ({error!r}): give the folder of a complete campaign") from error
    cells = read_cells(folder / "cells.jsonl")
    seconds = {part: {test: cell.seconds for test, cell in told.items()} for part, told in cells.items()}
    kept = {name: tests[0] for name, tests in read_killers(file).items()}
    kept |= cheapest(found, seconds, kept)
    kept = {name: kept[name] for name in sorted(kept) if name in faults}
    file.write_text(json.dumps(kept, indent=0) + "\n")
    return len(kept)


def cheapest(
    killers: Mapping[str, Collection[str]],
    seconds: Mapping[tuple[str, str], Mapping[str, float]],
    before: Mapping[str, str],
) -> dict[str, str]:
    """Choose one test for each fault, so that a campaign with these tests is soon over.

    A test costs what it takes under the fault, in both runs, and without it, unless it was chosen for another fault.

    Args:
        killers: by fault, the tests that noticed it.
        seconds: by fault ("baseline" for none) and part of its trial, those of each test.
        before: what was chosen last time. It stays while it notices and no other costs less than half as much: times
            vary, and the file is to change little.
    """
    without = {**seconds.get(("baseline", "quick"), {}), **seconds.get(("baseline", "full"), {})}
    chosen: dict[str, str] = {}

    def cost(fault: str, test: str) -> float:
        under = sum(seconds.get((fault, part), {}).get(test, 0.0) for part in ("first", "second"))
        return under + (0.0 if test in chosen.values() else without.get(test, 0.0))

    # Those with the fewest killers have the least to choose from.
    for fault in sorted(killers, key=lambda name: (len(killers[name]), name)):
        costs = {test: cost(fault, test) for test in killers[fault]}
        best, old = min(costs, key=lambda test: (costs[test], test)), before.get(fault)
        chosen[fault] = old if old in costs and costs[old] <= 2 * costs[best] else best
    return chosen

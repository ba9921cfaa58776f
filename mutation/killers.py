"""Which test noticed each fault: kept in the repository, so that a campaign from nothing tries that test first.

Nothing else follows from it. A test that is gone, or no longer notices, costs time and no verdict.
"""

import json
from collections.abc import Collection
from pathlib import Path

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
    kept = {name: tests[0] for name, tests in read_killers(file).items()}
    # Who noticed before is kept while it still does, so that the file changes little.
    kept |= {name: kept[name] if kept.get(name) in tests else tests[0] for name, tests in found.items()}
    kept = {name: kept[name] for name in sorted(kept) if name in faults}
    file.write_text(json.dumps(kept, indent=0) + "\n")
    return len(kept)

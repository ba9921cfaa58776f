"""Reads which faults and which mutants of the source are declared not to be noticeable, and why."""

import tomllib
from collections.abc import Collection
from pathlib import Path

from mutation.source.mutant import Change


def read_equivalents(file: Path, known: Collection[str]) -> dict[str, str]:
    """Read the reasons, by the name of the fault.

    Raises:
        ValueError: a name that is no fault, or a reason that is empty.
    """
    declared: dict[str, str] = tomllib.loads(file.read_text()).get("planted", {})
    for name, reason in declared.items():
        if name not in known:
            raise ValueError(f"{file.name} declares {name!r}, and there is no such fault: delete the line")
        if not reason.strip():
            raise ValueError(f"{file.name} declares {name!r} without a reason: say why no test can notice it")
    return declared


def read_source_equivalents(file: Path) -> list[Change]:
    """Read the changes to the source that no test can notice; none where there is no such file.

    An entry has function, old, new and reason; old or new is "" where lines are only added, or only taken out.

    Raises:
        ValueError: an entry with other keys, or whose reason is empty.
    """
    if not file.exists():
        return []
    found = []
    for entry in tomllib.loads(file.read_text()).get("source", []):
        if set(entry) != {"function", "old", "new", "reason"}:
            raise ValueError(f"{file.name}: a [[source]] entry has {sorted(entry)}: give function, old, new, reason")
        if not entry["reason"].strip():
            raise ValueError(f"{file.name} declares a mutant of {entry['function']} without a reason: say why it lives")
        old, new = (squeeze(entry[key]) for key in ("old", "new"))
        found.append(Change(entry["function"], old, new))
    return found


def squeeze(lines: str) -> str:
    """Reduce the white space of each line to single spaces."""
    return "\n".join(" ".join(line.split()) for line in lines.strip().splitlines())

"""Reads which faults are declared not to be noticeable, and why."""

import tomllib
from collections.abc import Collection
from pathlib import Path


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

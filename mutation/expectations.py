"""Reads which faults may end otherwise than killed, and which tests may kill nothing, each with its reason."""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation.status import Status


@dataclass(frozen=True)
class Expected:
    """How one fault must end."""

    status: Status
    reason: str


@dataclass(frozen=True)
class Expectations:
    """What a campaign may pass with.

    Attributes:
        faults: by name, how they must end.
        idle: by pattern of node ids, why those tests need not kill anything.
    """

    faults: Mapping[str, Expected]
    idle: Mapping[str, str]


def read_expectations(file: Path, known: Collection[str]) -> Expectations:
    """Read the tables [expected] and [idle].

    Raises:
        ValueError: a name that is no fault, a status that needs no expectation or is none, a reason that is empty.
    """
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    idle = {pattern: reasoned(f"[idle] {pattern!r}", reason) for pattern, reason in tables.get("idle", {}).items()}
    faults = {name: expected(name, entry, known) for name, entry in tables.get("expected", {}).items()}
    return Expectations(faults, idle)


def expected(name: str, entry: Any, known: Collection[str]) -> Expected:
    """Check one entry of [expected]."""
    if name not in known:
        raise ValueError(f"[expected] names {name!r}, and there is no such fault: delete the entry")
    if not isinstance(entry, dict) or set(entry) != {"status", "reason"}:
        raise ValueError(f'[expected] {name} is {entry!r}: write {{status = "...", reason = "..."}}')
    choices = [str(status) for status in Status if status not in (Status.KILLED, Status.EQUIVALENT)]
    if entry["status"] not in choices:
        raise ValueError(f"[expected] {name} has the status {entry['status']!r}: choose from {', '.join(choices)}")
    return Expected(Status(entry["status"]), reasoned(f"[expected] {name}", entry["reason"]))


def reasoned(entry: str, reason: Any) -> str:
    """Check that there is a reason."""
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError(f"{entry} has the reason {reason!r}: say why the campaign may pass with it")
    return reason


def matches(pattern: str, test: str) -> bool:
    """Whether a pattern means a node id; a * stands for anything, and brackets for themselves."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), test, re.DOTALL) is not None

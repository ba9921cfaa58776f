"""How small may a fault be before the suite no longer notices it?"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faults import WEAKENED, Fault
from mutation.case import Verdict
from mutation.status import Status


@dataclass(frozen=True)
class Sensitivity:
    """What was seen of one fault.

    Attributes:
        smallest: the least strength at which it, and all stronger forms of it, were noticed; None when none was.
        test: that noticed the weakest of them.
        statuses: by strength, the strongest first.
    """

    fault: str
    smallest: float | None
    test: str
    statuses: dict[float, str]


def forms(names: Sequence[str], strengths: Sequence[float]) -> dict[str, Fault]:
    """Each fault at each strength, by "name@strength".

    Raises:
        ValueError: a fault without weaker forms, or a strength that is no share.
    """
    asked = [f"{name}@{strength:g}" for name in names for strength in strengths]
    missing = [form for form in asked if form not in WEAKENED]
    if missing:
        raise ValueError(
            f"{missing[0]} is no weaker form of a fault: give a strength above 0 and at most 1, and one of "
            f"{', '.join(name.partition('@')[0] for name in WEAKENED)}"
        )
    return {form: WEAKENED[form] for form in asked}


def suite_for(names: Sequence[str], killers: Mapping[str, Sequence[str]]) -> list[str]:
    """The tests that notice the faults at full strength: a weaker one is noticed by these, or by nobody.

    Raises:
        ValueError: of a fault it is not known who notices it.
    """
    unknown = [name for name in names if not killers.get(name)]
    if unknown:
        raise ValueError(
            f"who notices {', '.join(unknown)} is not known: run `python -m mutation prove` and "
            "`python -m mutation killers planted/NAME` first"
        )
    return sorted({test for name in names for test in killers[name]})


def sensitivities(verdicts: Sequence[Verdict]) -> list[Sensitivity]:
    """Sum up, fault by fault."""
    by_fault: dict[str, dict[float, Verdict]] = {}
    for verdict in verdicts:
        name, _, strength = verdict.name.partition("@")
        by_fault.setdefault(name, {})[float(strength)] = verdict
    found = []
    for name, tried in sorted(by_fault.items()):
        smallest: float | None = None
        test = ""
        for share in sorted(tried, reverse=True):
            if tried[share].status is not Status.KILLED:
                break
            smallest, test = share, tried[share].killers[0]
        statuses = {share: str(tried[share].status) for share in sorted(tried, reverse=True)}
        found.append(Sensitivity(name, smallest, test, statuses))
    return found


def insensitive(found: Sequence[Sensitivity], aim: float) -> list[str]:
    """The faults that are not noticed at the strength that is aimed at, each in a sentence."""
    return [
        f"{s.fault}: noticed down to {'no strength' if s.smallest is None else f'{s.smallest:g}'}, the aim is {aim:g}"
        for s in found
        if s.smallest is None or s.smallest > aim
    ]


def write(found: Sequence[Sensitivity], aim: float, file: Path) -> None:
    """Write what was found as JSON."""
    told = [
        {
            "fault": s.fault,
            "smallest": s.smallest,
            "test": s.test,
            "statuses": {f"{strength:g}": status for strength, status in s.statuses.items()},
        }
        for s in found
    ]
    file.write_text(json.dumps({"aim": aim, "faults": told}, indent=1) + "\n")

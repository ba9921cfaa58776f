"""The verdicts of a campaign as what JSON can hold."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mutation.case import Verdict
from mutation.journal import versions


def summary(
    verdicts: Iterable[Verdict],
    first_kill: bool,
    seconds: Mapping[str, float],
    tests: Sequence[str],
    cached: Mapping[str, int],
    cache: Mapping[str, Any],
) -> dict[str, Any]:
    """Verdicts sorted by name, with the time of each stage and the versions that they hold for.

    Args:
        cached: by fault, how many of its cells come from earlier campaigns; also of the "baseline".
        cache: how many cells ran again to check the others, and which seed drew them.
    """
    ordered = sorted(verdicts, key=lambda verdict: verdict.name)
    return {
        "mode": "first" if first_kill else "matrix",
        "faults": {verdict.name: as_plain(verdict, cached.get(verdict.name, 0)) for verdict in ordered},
        "counts": dict(Counter(str(verdict.status) for verdict in ordered)),
        "tests": list(tests),
        "cache": {"cells": sum(cached.values()), "baseline": cached.get("baseline", 0), **cache},
        "seconds": {stage: round(spent, 2) for stage, spent in seconds.items()},
        "versions": versions(),
    }


def as_plain(verdict: Verdict, cached: int) -> dict[str, object]:
    """A verdict; its cells stand in another file."""
    return {
        "status": verdict.status,
        "effect": verdict.effect,
        "accepted": verdict.accepted(),
        "killers": verdict.killers,
        "unconfirmed": verdict.unconfirmed,
        "kinds": dict(Counter(cell.kind for cell in verdict.cells.values())),
        "hits": verdict.hits,
        "cached": cached,
        "seam": verdict.fault.seam,
        "source": verdict.fault.source,
        "note": verdict.note,
    }

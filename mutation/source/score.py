"""The two scores of a run over mutants of the source, and the gate."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from mutation.source.mutant import Outcome

Counts = Mapping[Outcome, int]
MISSED = (Outcome.SURVIVED, Outcome.NO_TESTS, Outcome.TIMEOUT)


def count(outcomes: Iterable[Outcome]) -> Counts:
    """Count how mutants ended."""
    return Counter(outcomes)


def raw(counts: Counts) -> float | None:
    """Share of the mutants under which some test failed, for whatever reason.

        (asserted + error only) / (all - equivalent)

    This is mutmut's own score, with its timeouts not counted as noticed.

    Returns:
        0 to 1; None where there is nothing to count.
    """
    noticed = counts.get(Outcome.ASSERTED, 0) + counts.get(Outcome.ERROR_ONLY, 0)
    return share(noticed, sum(counts.values()) - counts.get(Outcome.EQUIVALENT, 0))


def assertion(counts: Counts) -> float | None:
    """Share of the mutants that leave the code able to run, and that a test then judged to be wrong.

        asserted / (asserted + survived + no tests + timeout)

    A mutant that only ever ends in a TypeError, or kills the process, says nothing of what the tests assert, so it
    stands neither above nor below the line; "error only" and "crashed" are listed apart.

    Returns:
        0 to 1; None where there is nothing to count.
    """
    asserted = counts.get(Outcome.ASSERTED, 0)
    missed = [counts.get(outcome, 0) for outcome in MISSED]
    return share(asserted, asserted + sum(missed))


def share(part: int, whole: int) -> float | None:
    """part / whole, if there is a whole."""
    return part / whole if whole else None


def interval(share: float, number: int) -> tuple[float, float]:
    """Where a share lies, with 95 % confidence, of which a sample shows an estimate: Wilson's score interval.

        (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n),  z = 1.96

    Args:
        share: p, of the mutants drawn.
        number: n, how many were drawn.
    """
    z = 1.96
    middle = (share + z**2 / (2 * number)) / (1 + z**2 / number)
    half = z * math.sqrt(share * (1 - share) / number + z**2 / (4 * number**2)) / (1 + z**2 / number)
    return middle - half, middle + half


def complaints(modules: Mapping[str, Counts], each: bool = True) -> list[str]:
    """Say what keeps the scores from being good enough; nothing when they are.

    The rule: 98 % raw and 85 % by assertion in all, and no module under 90 % raw.

    Args:
        each: whether the rule on single modules is asked too.
    """
    total: Counter[Outcome] = Counter()
    for counts in modules.values():
        total.update(counts)
    found = []
    for name, score, least in (("raw score", raw(total), 0.98), ("assertion score", assertion(total), 0.85)):
        if score is not None and score < least:
            found.append(f"the {name} is {score:.1%} and must be {least:.0%}: test what survived")
    for module, counts in modules.items():
        score = raw(counts)
        if each and score is not None and score < 0.9:
            found.append(f"the raw score of {module} is {score:.1%} and must be 90%: test what survived there")
    return found

"""What the kills of a whole matrix say about each test and each fault."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mutation.cover import Cover, smallest_cover


@dataclass(frozen=True)
class Matrix:
    """Tests against faults.

    Attributes:
        kills: by test, the faults that it kills; every test has an entry.
        unique: by test, the faults that no other test kills; only tests that have some.
        idle: tests that kill no fault and no source mutant.
        duplicates: groups of faults that the same tests kill; faults that nothing kills are in none.
        smallest: fewest tests that still kill every fault that is killed now.
    """

    kills: Mapping[str, tuple[str, ...]]
    unique: Mapping[str, tuple[str, ...]]
    idle: tuple[str, ...]
    duplicates: tuple[tuple[str, ...], ...]
    smallest: Cover


def analyse(
    tests: Sequence[str],
    killers: Mapping[str, Collection[str]],
    elsewhere: Mapping[str, Collection[str]],
) -> Matrix:
    """Turn confirmed kills over.

    Args:
        tests: every test that had its chance.
        killers: by fault, the tests that noticed it twice.
        elsewhere: by source mutant, the tests that kill it.
    """
    kills = {test: tuple(fault for fault in sorted(killers) if test in killers[fault]) for test in tests}
    lone = {fault: next(iter(found)) for fault, found in killers.items() if len(found) == 1}
    unique = {test: tuple(fault for fault in kills[test] if lone.get(fault) == test) for test in tests}
    busy = {test for found in elsewhere.values() for test in found}
    return Matrix(
        kills=kills,
        unique={test: faults for test, faults in unique.items() if faults},
        idle=tuple(test for test in tests if not kills[test] and test not in busy),
        duplicates=alike(killers),
        smallest=smallest_cover(killers),
    )


def alike(killers: Mapping[str, Collection[str]]) -> tuple[tuple[str, ...], ...]:
    """Group the faults that exactly the same tests kill."""
    groups: dict[frozenset[str], list[str]] = {}
    for fault in sorted(killers):
        if killers[fault]:
            groups.setdefault(frozenset(killers[fault]), []).append(fault)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)

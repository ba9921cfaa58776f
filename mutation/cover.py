"""The fewest tests that still kill every fault: the set cover problem."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Cover:
    """Tests that together kill everything.

    Attributes:
        exact: no smaller set exists; otherwise the number is an upper bound.
    """

    tests: tuple[str, ...]
    exact: bool


def smallest_cover(killers: Mapping[str, Collection[str]], patience: int = 5000) -> Cover:
    """Choose the fewest tests such that each fault with a killer keeps one.

    Faults that share no test, directly or through others, are decided apart. Each such group is searched by branch and
    bound: the fault with the fewest killers needs one of them, and faults without a common killer need one each.

    Args:
        killers: by fault, the tests that kill it.
        patience: nodes of the search tree that one group may cost, before the best set so far is taken.
    """
    chosen: list[str] = []
    exact = True
    for group in apart(minimal({frozenset(tests) for tests in killers.values() if tests})):
        search = Search(group, patience)
        search.descend(group, ())
        chosen += search.best
        exact = exact and search.nodes <= patience
    return Cover(tuple(sorted(chosen)), exact)


def minimal(rows: Collection[frozenset[str]]) -> list[frozenset[str]]:
    """Drop each set of killers that holds another one: whoever serves the smaller serves the larger."""
    kept: list[frozenset[str]] = []
    for row in sorted(rows, key=lambda row: (len(row), sorted(row))):
        if not any(smaller <= row for smaller in kept):
            kept.append(row)
    return kept


def apart(rows: Collection[frozenset[str]]) -> list[list[frozenset[str]]]:
    """Part sets into groups that have no test in common."""
    groups: list[list[frozenset[str]]] = []
    for row in rows:
        touched = [group for group in groups if any(row & other for other in group)]
        groups = [group for group in groups if group not in touched]
        groups.append([row, *(other for group in touched for other in group)])
    return groups


class Search:
    """Branch and bound over one group.

    Attributes:
        best: the smallest set so far.
        nodes: how many choices were looked at.
    """

    def __init__(self, rows: Collection[frozenset[str]], patience: int) -> None:
        self.best = greedy(rows)
        self.nodes, self.patience = 0, patience

    def descend(self, rows: Collection[frozenset[str]], chosen: tuple[str, ...]) -> None:
        """Look for a smaller set that holds what is chosen and meets the rows that are left."""
        if not rows:
            self.best = min(self.best, chosen, key=len)
            return
        if len(chosen) + needed(rows) >= len(self.best):
            return
        for test in most_first(min(rows, key=lambda row: (len(row), sorted(row))), rows):
            self.nodes += 1
            if self.nodes > self.patience:
                return
            self.descend([row for row in rows if test not in row], (*chosen, test))


def greedy(rows: Collection[frozenset[str]]) -> tuple[str, ...]:
    """Take again and again a test that kills most of what is left."""
    chosen: tuple[str, ...] = ()
    while rows:
        test = most_first(frozenset().union(*rows), rows)[0]
        chosen += (test,)
        rows = [row for row in rows if test not in row]
    return chosen


def most_first(tests: Collection[str], rows: Collection[frozenset[str]]) -> list[str]:
    """Order tests by how many of the rows they meet, then by name."""
    met = {test: sum(test in row for row in rows) for test in tests}
    return sorted(tests, key=lambda test: (-met[test], test))


def needed(rows: Collection[frozenset[str]]) -> int:
    """Count rows of which no two share a test: no set is smaller than that."""
    used: set[str] = set()
    count = 0
    for row in sorted(rows, key=len):
        if not used & row:
            used |= row
            count += 1
    return count

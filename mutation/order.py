"""Which tests are tried first: the order decides how soon a fault is noticed, and nothing else."""

from collections import Counter
from collections.abc import Collection, Sequence


def file_by_file(tests: Sequence[str]) -> tuple[str, ...]:
    """The first test of each file, then the second of each, and so on: what one file cannot see, another one may."""
    place: Counter[str] = Counter()
    order: list[tuple[int, int, str]] = []
    for test in tests:
        file = test.partition("::")[0]
        order.append((place[file], len(order), test))
        place[file] += 1
    return tuple(test for _, _, test in sorted(order))


def first_of(favoured: Collection[str], tests: Sequence[str]) -> list[str]:
    """Tests in their order, the favoured ones in front."""
    return sorted(tests, key=lambda test: test not in favoured)

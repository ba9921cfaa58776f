"""Which faults a part of a campaign puts on trial."""

import re
from collections.abc import Sequence


def read_shard(text: str) -> tuple[int, int]:
    """Read "I/N": part I of N, counted from 1.

    Raises:
        ValueError: it is something else.
    """
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"--shard {text!r}: give I/N with 1 <= I <= N, as in 2/4")
    return int(match[1]), int(match[2])


def faults_of(names: Sequence[str], shard: tuple[int, int]) -> list[str]:
    """Every N-th fault in the order of their names, so that neighbours, which cost about the same, are dealt out.

    Raises:
        ValueError: there are fewer faults than parts.
    """
    part, parts = shard
    if parts > len(names):
        raise ValueError(f"--shard {part}/{parts} parts {len(names)} faults: ask for at most {len(names)} parts")
    return sorted(names)[part - 1 :: parts]

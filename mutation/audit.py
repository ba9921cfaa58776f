"""Whether the reach map is right: some of the tests that should not enter a seam run under its fault all the same."""

import random
from collections.abc import Collection, Mapping, Sequence

from mutation.cells import Cell


def draw(
    reach: Mapping[str, Collection[str]], tests: Sequence[str], share: float, seed: int
) -> dict[str, tuple[str, ...]]:
    """Draw from all pairs of a fault and a test that does not reach it.

    Args:
        reach: by fault, the tests that reach it.
        share: of the pairs, between 0 and 1; when it is not 0 at least one is drawn, where there is one.

    Returns:
        By fault, the tests to run, in their order.
    """
    pairs = [(fault, test) for fault in sorted(reach) for test in tests if test not in reach[fault]]
    wanted = min(len(pairs), max(1, round(share * len(pairs)))) if share else 0
    drawn = set(random.Random(seed).sample(pairs, wanted))
    by_fault = {fault: tuple(test for test in tests if (fault, test) in drawn) for fault in reach}
    return {fault: chosen for fault, chosen in by_fault.items() if chosen}


def refuse_reached(fault: str, seam: str, cells: Mapping[str, Cell]) -> None:
    """Check what tests did that should not have met the fault.

    Raises:
        RuntimeError: one called its seam, or did anything but pass.
    """
    for test, cell in cells.items():
        if cell.hits.get(seam) or cell.kind not in ("pass", "skipped"):
            raise RuntimeError(
                f"{test} was taken not to enter {seam}, but under {fault} it called it {cell.hits.get(seam, 0)} times "
                f"and ended with {cell.kind} {cell.message}: the reach map is wrong, so the run is void"
            )

"""What would make a campaign say less than it seems to: its seams, and what the suite does while it is collected."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

from faults import Fault
from mutation.collection import CollectionHits
from mutation.module_calls import calls_at_import, first_party
from mutation.suite import refuse_missing, with_collected


def lint(faults: Mapping[str, Fault], paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Check the seams of faults, and collect a suite with every seam counted.

    Returns:
        What must be mended, and what is only worth knowing; one sentence each.

    Raises:
        ValueError: the suite is not there.
    """
    refuse_missing(paths)
    problems, remarks = pairs(faults)
    with TemporaryDirectory() as scratch, (Path(scratch) / "log").open("w") as log:
        seen = CollectionHits(faults, Path(scratch))
        try:
            with seen.stack:
                root = with_collected(paths, log, seen.look, [seen])
        except RuntimeError as error:
            problems.append(str(error))
        else:
            problems += at_collection(seen, root)
    return [f"{name}: {why}" for name, why in seen.stale.items()] + problems, remarks


def at_collection(seen: CollectionHits, root: Path) -> list[str]:
    """Name every call that no fault reaches, because it is made before any fault is on."""
    found = [
        f"{name}: {file} calls the seam {fault.seam} while it is collected, before the fault is on: "
        f"call it inside a test, or run `planted --cold --fault {name}`"
        for name, fault in seen.faults.items()
        for file in sorted(seen.entered.get(fault.seam, ()))
    ]
    packages = first_party(root)
    for file in sorted(seen.files):
        found += [
            f"{file.relative_to(root)}:{line} calls {called} while it is collected, where no fault reaches it: "
            "call it inside a test"
            for line, called in calls_at_import(file.read_text(), packages)
        ]
    return found


def pairs(faults: Mapping[str, Fault]) -> tuple[list[str], list[str]]:
    """Compare every two faults on one seam: the same mechanism is one too many, the same effect worth knowing."""
    twins, related = [], []
    for (one, first), (other, second) in combinations(faults.items(), 2):
        if first.seam != second.seam:
            continue
        if first.mechanism == second.mechanism:
            twins.append(f"{one} and {other} have one seam and one mechanism: delete one, or say how they differ")
        elif (first.effect, first.visible) == (second.effect, second.visible):
            related.append(f"{one} and {other} have one seam and one effect, {first.effect}")
    return twins, related

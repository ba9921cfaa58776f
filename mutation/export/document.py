"""The matrix as one JSON document; `matrix.schema.json` beside this file says what each field means."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from faults import Fault
from mutation.gate import Judgement
from mutation.matrix import Matrix
from mutation.record import Record, Tried
from mutation.status import Status


def document(
    record: Record, matrix: Matrix | None, judgement: Judgement, catalogue: Mapping[str, Fault]
) -> dict[str, Any]:
    """Put together all that is known of a campaign.

    Args:
        matrix: None when it cannot be told who kills what, since tests were left out.
        catalogue: for the mechanism of each fault; a fault that it lacks has none.
    """
    place = {test: number for number, test in enumerate(record.tests)}
    return {
        "format": "weighbridge-matrix",
        "version": 1,
        "mode": "matrix" if record.whole_rows else "first",
        "passed": not judgement.problems,
        "problems": list(judgement.problems),
        "counts": dict(Counter(str(fault.status) for fault in record.faults.values())),
        "seconds": dict(record.seconds),
        "versions": dict(record.versions),
        "tests": [test_entry(test, record, matrix, judgement) for test in record.tests],
        "faults": [
            {
                "name": name,
                "mechanism": catalogue[name].mechanism if name in catalogue else "",
                "reason": judgement.as_expected.get(name, ""),
                "accepted": name in judgement.as_expected or fault.accepted,
                **fault_entry(fault, place),
            }
            for name, fault in sorted(record.faults.items(), key=lambda item: survivors_first(item[0], item[1]))
        ],
        "analysis": matrix and analysis_entry(record, matrix),
    }


def survivors_first(name: str, fault: Tried) -> tuple[int, bool, str]:
    """Where a fault stands in a list: what tests miss, what is unclear, what is noticed."""
    first = [Status.SURVIVED, Status.NOT_REACHED, Status.FLAKY]
    last = [Status.KILLED, Status.EQUIVALENT]
    order = [*first, *(status for status in Status if status not in first + last), *last]
    return order.index(fault.status), fault.accepted, name


def family(seam: str) -> str:
    """The library that a seam is in."""
    return seam.partition(":")[0].partition(".")[0]


def fault_entry(fault: Tried, place: Mapping[str, int]) -> dict[str, Any]:
    """One fault; its tests are named by their place in the list of tests, and those that passed by nothing else."""
    known = {test: cell for test, cell in fault.cells.items() if test in place}
    return {
        "family": family(fault.seam),
        "seam": fault.seam,
        "source": fault.source,
        "status": fault.status,
        "effect": fault.effect,
        "killers": list(fault.killers),
        "hits": fault.hits,
        "seconds": round(sum(cell.seconds for cell in known.values()), 3),
        "note": fault.note,
        "passed": [place[test] for test, cell in known.items() if cell.kind == "pass"],
        "cells": [
            {
                "test": place[test],
                "kind": cell.kind,
                "confirmed": test in fault.killers,
                "message": cell.message,
                "seconds": round(cell.seconds, 3),
            }
            for test, cell in known.items()
            if cell.kind != "pass"
        ],
    }


def test_entry(test: str, record: Record, matrix: Matrix | None, judgement: Judgement) -> dict[str, Any]:
    """One test."""
    without = record.without.get(test)
    return {
        "id": test,
        "file": test.partition("::")[0],
        "seconds": round(without.seconds, 3) if without else None,
        "seams": sorted(without.hits) if without else [],
        "kills": list(matrix.kills[test]) if matrix else None,
        "unique": list(matrix.unique.get(test, ())) if matrix else None,
        "idle": test in matrix.idle if matrix else None,
        "reason": judgement.excused.get(test, ""),
    }


def analysis_entry(record: Record, matrix: Matrix) -> dict[str, Any]:
    """What holds for the matrix as a whole."""
    return {
        "idle": list(matrix.idle),
        "duplicates": [list(group) for group in matrix.duplicates],
        "one_killer": {fault: test for test, faults in matrix.unique.items() for fault in faults},
        "smallest": {"tests": list(matrix.smallest.tests), "exact": matrix.smallest.exact},
        "source_mutants": len(record.elsewhere),
    }

"""Everything that can be written from the folder of a campaign."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faults import Fault
from mutation.expectations import Expectations
from mutation.export.document import document
from mutation.export.elements import elements
from mutation.export.junit import junit
from mutation.export.page import page
from mutation.gate import judge
from mutation.matrix import analyse
from mutation.record import read_record
from mutation.status import Effect


def export(folder: Path, catalogue: Mapping[str, Fault], expectations: Expectations) -> dict[str, Any]:
    """Judge the campaign, and write `matrix.json`, `junit.xml`, `elements.json` and `matrix.html` beside its cells.

    What a test kills is only told when all faults of the catalogue met all tests that enter their seams. Of another
    project's suite nobody asks that every test kills one of our faults, and our exceptions do not apply to it.

    Returns:
        What `matrix.json` holds.

    Raises:
        ValueError: the folder does not hold a campaign.
    """
    record = read_record(folder)
    killers = {name: fault.killers for name, fault in record.faults.items()}
    whole = record.whole_rows and catalogue.keys() <= killers.keys()
    matrix = analyse(record.tests, killers, record.elsewhere) if whole else None
    foreign = any(fault.effect is Effect.NOT_ASKED for fault in record.faults.values())
    judgement = judge(record, None, Expectations({}, {})) if foreign else judge(record, matrix, expectations)
    told = document(record, matrix, judgement, catalogue)
    for name, text in (
        ("matrix.json", json.dumps(told) + "\n"),
        ("junit.xml", junit(told)),
        ("elements.json", json.dumps(elements(told)) + "\n"),
        ("matrix.html", page(told)),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return told

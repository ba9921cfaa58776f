"""docs/fault-runs.md lists every run and what is measured; docs/sensitivity.md, every fault of weaker forms."""

import re
from pathlib import Path
from typing import get_args, get_type_hints

from faults import CATALOGUE
from faults._fault import Fault
from tests.faults.scenarios import SCENARIOS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "fault-runs.md"


def first_cells() -> set[str]:
    """Names in the first column of the page's tables."""
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    return set(re.findall(r"`\"?(\w+)\"?`", " ".join(rows)))


def test_the_page_of_runs_lists_every_run_and_every_quantity():
    quantities = set(get_args(get_type_hints(Fault)["quantity"]))

    assert first_cells() - {"quantity", "visible"} == set(SCENARIOS) | quantities


def test_every_run_is_some_faults():
    assert set(SCENARIOS) == {CATALOGUE[name].visible for name in CATALOGUE}


def test_the_page_of_weaker_forms_lists_every_fault_that_has_them():
    text = (DOCS / "sensitivity.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| \w+, (\w+) \| (\S+) \|", text, re.MULTILINE)
    noticed = sum(float(strength) <= 1e-4 for _, _, strength in rows)

    assert {name: dilutes for name, dilutes, _ in rows} == {n: f.dilutes for n, f in CATALOGUE.items() if f.dilutes}
    assert f"Of {len(rows)} faults, {noticed} are noticed at 1e-4 or less" in text

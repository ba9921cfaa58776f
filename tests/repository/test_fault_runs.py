"""docs/fault-runs.md lists every run, and everything that is measured in one."""

import re
from pathlib import Path
from typing import get_args, get_type_hints

from faults import CATALOGUE
from faults._fault import Fault
from tests.faults.scenarios import SCENARIOS

PAGE = Path(__file__).parents[2] / "docs" / "fault-runs.md"


def first_cells() -> set[str]:
    """Names in the first column of the page's tables."""
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    return set(re.findall(r"`\"?(\w+)\"?`", " ".join(rows)))


def test_the_page_of_runs_lists_every_run_and_every_quantity():
    quantities = set(get_args(get_type_hints(Fault)["quantity"]))

    assert first_cells() - {"quantity", "visible"} == set(SCENARIOS) | quantities


def test_every_run_is_some_faults():
    assert set(SCENARIOS) == {CATALOGUE[name].visible for name in CATALOGUE}

"""A fresh process has its fault on in a package, too, that brings a pytest plugin and that pytest imports itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults import CATALOGUE
from faults._started import environment

TEST = "tests/properties/test_verdicts.py::test_each_window_has_a_verdict_of_its_own"


@pytest.mark.spawn
def test_a_fault_of_the_instrument_is_on_and_noticed(tmp_path):
    seam = CATALOGUE["first_verdict_for_all"].seam
    orders = {"paths": [TEST.partition("::")[0]], "tests": [TEST], "stop_at_kill": False, "seam": seam, "memory": 6.0}
    (tmp_path / "orders").write_text(json.dumps({**orders, "limits": {TEST: 100.0}}))
    (tmp_path / "hits").touch()
    planted = environment(tmp_path / "hits", "faults:CATALOGUE:first_verdict_for_all", [seam])

    # Not those by which pytest tells its workers of themselves.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "mutation.cold_process", str(tmp_path)]
    subprocess.run(command, env={**own, **planted}, cwd=Path(__file__).parents[2])

    _, cell, _ = (json.loads(line) for line in (tmp_path / "cells").read_text().splitlines())
    assert (cell["kind"], cell["hits"][seam] > 0) == ("assert", True)

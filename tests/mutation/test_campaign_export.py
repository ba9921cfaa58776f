"""What a real campaign leaves is what the exporters read."""

import json

import pytest

from mutation.expectations import Expectations
from mutation.export.folder import export
from tests.mutation.project import campaign, lay_out

pytestmark = pytest.mark.spawn
FAULTS = ["wrong", "cached", "harmless", "raises", "moved"]


@pytest.fixture(scope="module", params=["first", "matrix"])
def document(request, tmp_path_factory):
    """What is known after a campaign over a few sentinels."""
    folder = lay_out(tmp_path_factory.mktemp(request.param))
    done = campaign(folder, request.param, *FAULTS)
    assert done.returncode == 0, done.stderr
    export(folder / "out", {}, Expectations({}, {}))
    return json.loads((folder / "out" / "matrix.json").read_text())


def test_every_fault_has_its_row(document):
    statuses = {fault["name"]: fault["status"] for fault in document["faults"]}

    assert {
        "wrong": "killed",
        "cached": "killed",
        "harmless": "survived",
        "raises": "error only",
        "moved": "stale",
    } == statuses


def test_a_killed_fault_shows_the_failing_assertion(document):
    (wrong,) = (fault for fault in document["faults"] if fault["name"] == "wrong")

    assert [("assert", True)] == [(cell["kind"], cell["confirmed"]) for cell in wrong["cells"]]
    assert "assert 3 == 2" in wrong["cells"][0]["message"]


def test_every_test_has_its_time(document):
    assert document["tests"]
    assert [] == [test["id"] for test in document["tests"] if not test["seconds"]]


def test_the_matrix_tells_which_tests_kill(document):
    busy = [test["id"] for test in document["tests"] if test["idle"] is False]
    expected = [
        "test_toy.py::test_adds_one[wrong]",
        "test_toy.py::test_shares_a_cache[1]",
        "test_toy.py::test_shares_a_cache[2]",
    ]

    assert (expected if document["mode"] == "matrix" else []) == busy

"""One fault alone: quickly where it is noticed, in full where it seems not to be."""

import json

import pytest

from mutation.order import file_by_file
from tests.mutation.project import campaign, lay_out

pytestmark = pytest.mark.spawn


@pytest.fixture
def project(tmp_path):
    return lay_out(tmp_path)


def summary_of(project):
    return json.loads((project / "out" / "summary.json").read_text())


def cells_of(project, fault):
    lines = (project / "out" / "journal.jsonl").read_text().splitlines()
    return [cell for cell in map(json.loads, lines) if cell.get("fault") == fault]


@pytest.mark.parametrize("name", ["wrong", "late"])
def test_a_fault_that_is_killed_needs_no_baseline_before(project, name):
    campaign(project, "prove", name)

    assert "killed" == summary_of(project)["faults"][name]["status"]
    assert ["tests under the fault", "the tests that noticed, without the fault"] == [*summary_of(project)["seconds"]]


def test_a_proof_tells_the_story_of_the_fault(project):
    told = campaign(project, "prove", "wrong").stdout

    assert "test_toy.py::test_adds_one[wrong]" in told
    assert "call: AssertionError: assert 3 == 2" in told
    assert "effect matched: closed form toy:none" in told
    assert "measured: 3" in told


@pytest.mark.parametrize(
    ("name", "status"), [("harmless", "survived"), ("unreached", "not reached"), ("raises", "error only")]
)
def test_nothing_is_said_against_the_suite_before_all_of_it_ran(project, name, status):
    campaign(project, "prove", name)

    assert status == summary_of(project)["faults"][name]["status"]
    assert "the suite without a fault, test by test" in summary_of(project)["seconds"]


def test_a_seam_that_has_moved_is_stale_at_once(project):
    told = campaign(project, "prove", "moved").stdout

    assert "stale" == summary_of(project)["faults"]["moved"]["status"]
    assert "no 'moved'" in told


def test_a_killer_that_is_red_without_the_fault_makes_the_run_void(project):
    with (project / "test_toy.py").open("a") as suite:
        suite.write(
            """
@given(st.integers(0, 100))
def test_green_for_one_example(x):
    assert toy.wrong(x) == x + 1
    assert x < 50
"""
        )

    done = campaign(project, "prove", "wrong")

    assert {"again": "assert"} == {
        cell["part"]: cell["kind"] for cell in cells_of(project, "baseline") if "one_example" in cell["test"]
    }
    assert "void" in done.stderr


@pytest.mark.parametrize("turn", [1, 2])
def test_the_killer_of_last_time_goes_first(project, turn):
    killer = f"test_toy.py::test_shares_a_cache[{turn}]"
    (project / "out").mkdir()
    (project / "out" / "summary.json").write_text(json.dumps({"faults": {"cached": {"killers": [killer]}}}))

    campaign(project, "first", "cached")

    assert [killer] == [cell["test"] for cell in cells_of(project, "cached") if cell["part"] == "first"]


def test_why_shows_the_full_traceback(project):
    done = campaign(project, "why", "wrong", "test_toy.py::test_adds_one")

    assert ">       assert getattr(toy, name)(1) == 2" in done.stdout
    assert "(1, 1)" in done.stderr


def test_why_says_when_nothing_fails(project):
    assert "(0, 1)" in campaign(project, "why", "harmless", "test_toy.py::test_adds_one").stderr


def test_every_file_has_its_turn_before_a_second_test_of_any():
    assert ("a::1", "b::1", "c::1", "a::2", "c::2", "a::3") == file_by_file(
        ["a::1", "a::2", "a::3", "b::1", "c::1", "c::2"]
    )


def test_why_refuses_a_test_that_is_not_there(project):
    assert "pytest finds no test nowhere.py" in campaign(project, "why", "wrong", "nowhere.py").stderr

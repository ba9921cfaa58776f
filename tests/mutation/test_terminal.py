"""The terminal names the first few of each kind, and how many there are."""

import io

import pytest
from rich.console import Console

from mutation.expectations import Expectations
from mutation.export.folder import export
from mutation.export.terminal import show_matrix
from tests.mutation.folder import fault, write

TESTS = [f"t.py::test_{number}[x]" for number in range(6)]


@pytest.fixture
def told(tmp_path):
    def told(faults, **more):
        document = export(write(tmp_path / "out", faults, TESTS, **more), {}, Expectations({}, {}))
        file = io.StringIO()
        show_matrix(Console(file=file, width=200), document, tmp_path / "out")
        return [line.strip() for line in file.getvalue().splitlines()]

    return told


KILLED = {"one": fault(killers=TESTS[:1]), "two": fault(killers=TESTS[:1]), "three": fault(killers=TESTS[:2])}


def test_idle_tests_are_counted_and_the_first_are_named(told):
    lines = told(KILLED)
    at = lines.index("4 tests kill nothing")

    assert [*TESTS[2:5], "and 1 more"] == lines[at + 1 : at + 5]


def test_unique_killers_are_named_with_what_they_alone_kill(told):
    lines = told(KILLED)
    at = lines.index("1 tests kill what no other test kills")

    assert f"{TESTS[0]} (2)" == lines[at + 1]


def test_duplicates_are_named_together(told):
    lines = told(KILLED)
    at = lines.index("1 groups of faults have the same killers")

    assert "one, two" == lines[at + 1]


def test_the_smallest_set_is_counted(told):
    assert "1 tests still kill all that is killed" in told(KILLED)


def test_what_is_in_the_way_is_listed(told):
    assert "one is survived, effect matched: it must be killed and measured" in told({"one": fault(status="survived")})


def test_after_first_kills_no_test_is_mentioned(told):
    lines = told({"one": fault(killers=TESTS[:1])}, mode="first")

    assert 1 == len(lines)
    assert "matrix.html" in lines[0]

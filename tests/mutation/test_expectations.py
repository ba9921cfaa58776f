"""A campaign passes with less only by name and with a reason."""

from pathlib import Path

import pytest

import mutation
from faults import CATALOGUE
from mutation.expectations import Expected, matches, read_expectations
from mutation.status import Status


def read(folder, text):
    (folder / "e.toml").write_text(text)
    return read_expectations(folder / "e.toml", ["slow", "other"])


def test_our_own_entries_name_faults_of_the_catalogue():
    found = read_expectations(Path(mutation.__file__).with_name("equivalents.toml"), CATALOGUE)

    assert found.faults.keys() <= CATALOGUE.keys()


def test_both_tables_are_read(tmp_path):
    found = read(tmp_path, "[expected]\nslow = {status = 'not reached', reason = 'x'}\n[idle]\n'a.py::*' = 'y'\n")

    assert {"slow": Expected(Status.NOT_REACHED, "x")} == found.faults
    assert {"a.py::*": "y"} == found.idle


def test_other_tables_are_left_alone(tmp_path):
    found = read(tmp_path, "[planted]\nslow = 'only time'\n[[source]]\nfunction = 'f'\n")

    assert ({}, {}) == (found.faults, found.idle)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[expected]\ngone = {status = 'flaky', reason = 'x'}", "'gone'"),
        ("[expected]\nslow = 'flaky'", "'flaky': write"),
        ("[expected]\nslow = ['status', 'reason']", "write"),
        ("[expected]\nslow = {status = 'flaky'}", "write"),
        ("[expected]\nslow = {status = 'flaky', reason = 'x', until = 'y'}", "until"),
        ("[expected]\nslow = {status = 'killed', reason = 'x'}", "'killed': choose from survived"),
        ("[expected]\nslow = {status = 'equivalent', reason = 'x'}", "'equivalent': choose from"),
        ("[expected]\nslow = {status = 'dead', reason = 'x'}", "'dead'"),
        ("[expected]\nslow = {status = 'flaky', reason = ' '}", r"\[expected\] slow has the reason ' '"),
        ("[idle]\n'a.py::*' = ''", r"\[idle\] 'a.py::\*' has the reason ''"),
        ("[idle]\n'a.py::*' = 3", "reason 3"),
    ],
)
def test_an_entry_that_explains_nothing_is_refused(tmp_path, text, told):
    with pytest.raises(ValueError, match=told):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("a.py::test_x[1-b]", True),
        ("a.py::test_x[*", True),
        ("*::test_x[*]", True),
        ("a.py::test_x", False),
        ("a.py::test_x[1b-]", False),
        ("a?py::*", False),
        ("*.py", False),
    ],
)
def test_only_a_star_stands_for_something_else(pattern, matched):
    assert matched == matches(pattern, "a.py::test_x[1-b]")

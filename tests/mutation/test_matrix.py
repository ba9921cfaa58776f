"""What kills say about tests and faults."""

import pytest

from mutation.matrix import analyse

KILLERS = {"one": ["a", "b"], "two": ["b"], "three": ["b", "a"], "none": []}


@pytest.fixture
def matrix():
    return analyse(["a", "b", "c", "d"], KILLERS, {})


def test_every_test_is_told_what_it_kills(matrix):
    assert {"a": ("one", "three"), "b": ("one", "three", "two"), "c": (), "d": ()} == matrix.kills


def test_a_kill_is_unique_when_no_other_test_makes_it(matrix):
    assert {"b": ("two",)} == matrix.unique


def test_a_test_that_kills_nothing_is_idle(matrix):
    assert ("c", "d") == matrix.idle


def test_a_test_that_kills_a_source_mutant_is_not_idle():
    assert ("d",) == analyse(["a", "b", "c", "d"], KILLERS, {"mutant": ("c",)}).idle


def test_faults_with_the_same_killers_are_duplicates(matrix):
    assert (("one", "three"),) == matrix.duplicates


def test_faults_that_nothing_kills_are_no_duplicates():
    assert () == analyse(["a"], {"one": [], "two": []}, {}).duplicates


def test_the_smallest_set_is_of_this_matrix(matrix):
    assert ("b",) == matrix.smallest.tests

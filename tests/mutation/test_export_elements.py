"""What the viewers of the Stryker family need."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.mutation.folder import TESTS, UGLY, exported, mixed, read


@pytest.fixture
def folder(tmp_path):
    return mixed(tmp_path / "out")


@pytest.fixture
def elements(folder):
    exported(folder)
    return read(folder, "elements.json")


@pytest.fixture
def mutants(elements):
    return {mutant["id"]: mutant for file in elements["files"].values() for mutant in file["mutants"]}


@pytest.fixture
def valid():
    """Tells what the published schema finds wrong with a report."""
    schema = json.loads(Path(__file__).with_name("stryker").joinpath("mutation-testing-report-schema.json").read_text())
    return jsonschema.Draft7Validator(schema)


def test_the_version_is_the_one_that_viewers_read(elements):
    assert "2.0" == elements["schemaVersion"]


def test_the_published_schema_finds_nothing_wrong(elements, valid):
    assert [] == [error.message for error in valid.iter_errors(elements)]


@pytest.mark.parametrize("name", ["status", "location", "mutatorName"])
def test_the_published_schema_would_miss_what_it_requires(elements, valid, name):
    for file in elements["files"].values():
        del file["mutants"][0][name]

    assert {f"'{name}' is a required property"} == {error.message for error in valid.iter_errors(elements)}


def test_each_status_has_a_state_of_the_schema(mutants):
    states = {name: mutant["status"] for name, mutant in mutants.items()}

    assert {
        "wrong": "Killed",
        "missed": "Survived",
        "lost": "RuntimeError",
        "once": "Survived",
        "same": "Ignored",
        "gone": "Pending",
    } == states


def test_killers_and_what_ran_are_tests_of_the_report(elements, mutants):
    ids = {test["id"] for file in elements["testFiles"].values() for test in file["tests"]}

    assert set(TESTS) == ids
    assert [TESTS[0], TESTS[2]] == mutants["wrong"]["killedBy"]
    assert TESTS == mutants["wrong"]["coveredBy"]
    assert 3 == mutants["wrong"]["testsCompleted"]


def test_the_reason_tells_the_failing_assertion(mutants):
    assert UGLY in mutants["wrong"]["statusReason"]


def test_faults_stand_in_the_file_of_their_seam(elements):
    assert {"toy.py", "toy/deep.py", "other.py"} == set(elements["files"])

"""What matrix.json says of each fault and test."""

import json

import pytest

from faults import CATALOGUE
from mutation.expectations import Expectations, Expected
from mutation.status import Status
from tests.mutation.folder import TESTS, UGLY, exported, fault, fault_of, mixed, read, write


@pytest.fixture
def folder(tmp_path):
    return mixed(tmp_path / "out")


def test_the_tests_of_another_project_need_not_kill(folder):
    write(folder, {"wrong": fault(killers=TESTS[:1], effect="not asked") | {"accepted": True}}, TESTS)

    document = exported(folder, Expectations({}, {"ours.py::*": "why"}))

    assert document["passed"]
    assert TESTS[1:] == document["analysis"]["idle"]


def test_survivors_come_first_and_kills_last(folder):
    order = [entry["name"] for entry in exported(folder)["faults"]]

    assert ["missed", "once", "lost", "gone", "wrong", "same"] == order


def test_faults_are_folded_by_the_library_of_their_seam(folder):
    assert {"toy", "other"} == {entry["family"] for entry in exported(folder)["faults"]}


def test_a_cell_says_how_its_test_failed_and_whether_twice(folder):
    document = exported(folder)

    assert {"test": 0, "kind": "assert", "confirmed": True, "message": UGLY, "seconds": 0.5} in fault_of(
        document, "wrong"
    )["cells"]
    assert [False] == [each["confirmed"] for each in fault_of(document, "once")["cells"]]


def test_a_passing_test_is_named_by_its_place(folder):
    assert [1] == fault_of(exported(folder), "wrong")["passed"]


def test_each_test_is_told_what_it_does(folder):
    first, idle, other = exported(folder)["tests"]

    assert (["wrong"], [], False, 0.5, ["toy:wrong"]) == tuple(
        first[field] for field in ("kills", "unique", "idle", "seconds", "seams")
    )
    assert ([], True) == (idle["kills"], idle["idle"])
    assert "b/test_y.py" == other["file"]


def test_the_catalogue_tells_the_mechanism(folder):
    (name, planted), *_ = CATALOGUE.items()
    write(folder, {name: fault()}, TESTS)

    document = exported(folder, catalogue={name: planted})

    assert planted.mechanism == document["faults"][0]["mechanism"]


def test_without_the_whole_catalogue_nothing_is_said_of_tests(folder):
    document = exported(folder, catalogue={"not run": None})

    assert document["analysis"] is None
    assert [None] * 3 == [test["idle"] for test in document["tests"]]
    assert [] == [problem for problem in document["problems"] if "kills nothing" in problem]


def test_after_first_kills_nothing_is_said_of_tests(folder):
    (folder / "summary.json").write_text(json.dumps(read(folder, "summary.json") | {"mode": "first"}))

    assert exported(folder)["analysis"] is None


def test_a_campaign_that_may_pass_passes(folder):
    write(folder, {"wrong": fault(killers=TESTS)}, TESTS)

    assert (True, []) == (exported(folder)["passed"], exported(folder)["problems"])


def test_a_fault_that_ends_as_expected_is_accepted_with_its_reason(folder):
    entry = fault_of(exported(folder, Expectations({"missed": Expected(Status.SURVIVED, "why")}, {})), "missed")

    assert (True, "why") == (entry["accepted"], entry["reason"])

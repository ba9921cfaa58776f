"""A campaign passes when every fault is noticed and every test notices, or as declared."""

import pytest

from mutation.expectations import Expectations, Expected
from mutation.gate import judge
from mutation.matrix import analyse
from mutation.record import read_record
from mutation.status import Status
from tests.mutation.folder import fault, write

NOTHING = Expectations({}, {})


@pytest.fixture
def judged(tmp_path):
    """Judge a campaign over three tests, of which `t.py::idle` kills nothing."""

    def judged(faults, expectations=NOTHING, whole=True):
        tests = ["t.py::works", "t.py::works_too", "t.py::idle"]
        record = read_record(write(tmp_path / "out", faults, tests))
        killers = {name: found.killers for name, found in record.faults.items()}
        return judge(record, analyse(tests, killers, {}) if whole else None, expectations)

    return judged


KILLED = {"wrong": fault(killers=["t.py::works", "t.py::works_too"])}


@pytest.mark.parametrize("status", [status for status in Status if status not in (Status.KILLED, Status.EQUIVALENT)])
def test_every_other_status_is_in_the_way(judged, status):
    assert (f"odd is {status}, effect matched: it must be killed and measured",) == judged(
        {"odd": fault(status=status)}, whole=False
    ).problems


def test_a_fault_without_its_effect_is_in_the_way(judged):
    (problem,) = judged({"wrong": fault(effect="mismatched")}, whole=False).problems

    assert "effect mismatched" in problem


def test_what_is_killed_or_equivalent_is_not_in_the_way(judged):
    assert () == judged(KILLED | {"same": fault(status="equivalent")}, whole=False).problems


def test_an_idle_test_is_in_the_way(judged):
    (problem,) = judged(KILLED).problems

    assert "t.py::idle kills nothing" in problem


def test_of_part_of_the_matrix_no_test_is_called_idle(judged):
    assert () == judged(KILLED, whole=False).problems


def test_an_idle_test_with_a_reason_is_excused(judged):
    judgement = judged(KILLED, Expectations({}, {"t.py::id*": "it guards the others"}))

    assert () == judgement.problems
    assert {"t.py::idle": "it guards the others"} == judgement.excused


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("t.py::gone", "matches no test"),
        ("t.py::works", "excuses t.py::works, which"),
        ("t.py::*", "excuses t.py::works,"),
    ],
)
def test_an_excuse_for_nobody_or_for_a_test_that_kills_is_in_the_way(judged, pattern, told):
    problems = judged(KILLED, Expectations({}, {"t.py::idle": "x", pattern: "y"})).problems

    assert 1 == len(problems)
    assert told in problems[0]


def test_a_fault_may_end_as_expected(judged):
    judgement = judged(
        {"far": fault(status="not reached")},
        Expectations({"far": Expected(Status.NOT_REACHED, "no GPU")}, {}),
        whole=False,
    )

    assert () == judgement.problems
    assert {"far": "no GPU"} == judgement.as_expected


@pytest.mark.parametrize("status", ["killed", "survived"])
def test_a_fault_that_is_expected_otherwise_is_in_the_way(judged, status):
    judgement = judged(
        {"far": fault(status=status)}, Expectations({"far": Expected(Status.NOT_REACHED, "no GPU")}, {}), whole=False
    )

    assert (f"far is {status}, and [expected] declares not reached: correct or delete it",) == judgement.problems
    assert {} == judgement.as_expected


def test_an_expectation_of_a_fault_that_did_not_run_says_nothing(judged):
    assert () == judged(KILLED, Expectations({"far": Expected(Status.STALE, "x")}, {}), whole=False).problems

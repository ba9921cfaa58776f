"""Fresh processes must see what the warm one saw."""

import pytest

from mutation.cells import Cell
from mutation.nightly import compared, differences
from mutation.record import Record, Tried
from mutation.status import Effect, Status


def tried(status=Status.KILLED, **kinds):
    killers = tuple(test for test, kind in kinds.items() if kind == "assert")
    cells = {test: Cell(kind) for test, kind in kinds.items()}
    return Tried("m:f", "", status, Effect.MATCHED, True, killers, (), 1, "", cells)


def record(**faults):
    return Record(True, faults, ("t", "u"), {}, {}, {}, {})


def test_the_same_kills_are_no_difference():
    assert [] == differences(
        record(a=tried(t="assert", u="pass"), b=tried(Status.SURVIVED, t="pass")), record(a=tried(t="assert", u="pass"))
    )


def test_a_test_that_the_fresh_process_did_not_need_is_no_difference():
    assert [] == differences(record(a=tried(t="assert", u="pass")), record(a=tried(t="assert")))


@pytest.mark.parametrize("other", ["pass", "error", "timeout"])
def test_a_kill_in_one_of_them_only_is_named(other):
    one, two = record(a=tried(t="assert", u="assert")), record(a=tried(t="assert", u=other))

    assert [f"a x u: assert in the warm process, {other} in a fresh one"] == differences(one, two)
    assert [f"a x u: {other} in the warm process, assert in a fresh one"] == differences(two, one)


def test_a_kill_that_did_not_run_is_named():
    assert ["a x u: assert in the warm process, not run in a fresh one"] == differences(
        record(a=tried(t="assert", u="assert")), record(a=tried(t="assert"))
    )


def test_another_status_is_named():
    one, two = record(a=tried(Status.NOT_REACHED)), record(a=tried(Status.UNCOLLECTED_ONLY, t="uncollected"))

    assert ["a: not reached in the warm process, uncollected only in a fresh one"] == differences(one, two)


def test_a_fault_that_the_matrix_has_not_tried_is_named():
    assert ["a was not tried in the matrix"] == differences(record(), record(a=tried(t="assert")))


def test_folders_without_a_campaign_are_a_difference(tmp_path):
    assert "nothing to compare" in compared(tmp_path, tmp_path)[0]

"""The sample of cells that should not be reached, and what must not be found in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutation.audit import draw, refuse_reached
from mutation.cells import Cell

TESTS = ["t0", "t1", "t2", "t3"]
reaches = st.dictionaries(st.sampled_from("abc"), st.sets(st.sampled_from(TESTS)), min_size=1)


@given(reaches, st.floats(0, 1), st.integers(0, 9))
def test_nothing_that_is_reached_is_drawn(reach, share, seed):
    for fault, tests in draw(reach, TESTS, share, seed).items():
        assert tests
        assert not set(tests) & reach[fault]


@given(reaches)
def test_all_of_it_is_all_that_is_not_reached(reach):
    missed = {fault: tuple(test for test in TESTS if test not in reach[fault]) for fault in reach}

    assert {fault: tests for fault, tests in missed.items() if tests} == draw(reach, TESTS, 1.0, 0)


def test_a_share_is_drawn():
    assert 3 == sum(map(len, draw({name: [] for name in "abc"}, TESTS, 0.25, 5).values()))


def test_even_a_small_share_is_one_cell():
    assert 1 == sum(map(len, draw({"a": ["t0"]}, TESTS, 1e-9, 5).values()))


def test_no_share_is_nothing():
    assert {} == draw({"a": []}, TESTS, 0.0, 5)


def test_the_seed_decides():
    drawn = {str(draw({name: [] for name in "abc"}, TESTS, 0.2, seed)) for seed in range(20)}

    assert len(drawn) > 5
    assert draw({"a": []}, TESTS, 0.5, 3) == draw({"a": []}, TESTS, 0.5, 3)


@pytest.mark.parametrize(
    "cell", [Cell("assert", "boom"), Cell("crash"), Cell("timeout"), Cell("pass", hits={"m:f": 1})]
)
def test_a_test_that_meets_the_fault_all_the_same_makes_the_run_void(cell):
    with pytest.raises(RuntimeError, match=r"t was taken not to enter m:f.*the reach map is wrong"):
        refuse_reached("wrong", "m:f", {"t": cell})


@pytest.mark.parametrize("cell", [Cell("pass"), Cell("skipped"), Cell("pass", hits={"m:other": 1})])
def test_one_test_that_met_it_stands_out_among_those_that_did_not(cell):
    refuse_reached("wrong", "m:f", {"s": cell, "t": cell})

    with pytest.raises(RuntimeError, match=r"^u was taken not to enter m:f"):
        refuse_reached("wrong", "m:f", {"s": cell, "t": cell, "u": Cell("pass", hits={"m:f": 1})})

"""The rules that turn what tests did under a fault into a status."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutation.status import Effect, Evidence, Status, accepted, effect_of, killers, kills, status_of

NOTICED = ("assert", "refusal")
LOST = ("crash", "timeout", "uncollected")
ACCIDENTS = ("error", *LOST)
QUIET = ("pass", "skipped")

names = st.sampled_from("abcdef")
kinds = st.sampled_from([*NOTICED, *ACCIDENTS, *QUIET])
runs = st.dictionaries(names, kinds)
evidence = st.builds(
    Evidence,
    first=runs,
    second=runs,
    hits=st.integers(0, 3),
    equivalent=st.booleans(),
    stale=st.sampled_from(["", "gone"]),
    harness=st.sampled_from(["", "broken"]),
)


def seen(first, second=None, hits=1, **more):
    """What a campaign saw of a fault whose seam was entered."""
    return Evidence(first=first, second=second or {}, hits=hits, **more)


@pytest.mark.parametrize("kind", NOTICED)
@pytest.mark.parametrize("again", NOTICED)
def test_noticed_twice_is_killed(kind, again):
    assert status_of(seen({"a": kind}, {"a": again})) is Status.KILLED


@pytest.mark.parametrize("again", [*ACCIDENTS, *QUIET])
def test_noticed_once_is_flaky(again):
    assert status_of(seen({"a": "assert"}, {"a": again})) is Status.FLAKY


def test_noticed_twice_by_different_tests_is_flaky():
    assert status_of(seen({"a": "assert", "b": "pass"}, {"b": "assert"})) is Status.FLAKY


def test_one_firm_killer_is_enough():
    assert status_of(seen({"a": "assert", "b": "assert"}, {"a": "pass", "b": "assert"})) is Status.KILLED


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("error", Status.ERROR_ONLY),
        ("crash", Status.CRASH_ONLY),
        ("timeout", Status.TIMEOUT_ONLY),
        ("uncollected", Status.UNCOLLECTED_ONLY),
    ],
)
def test_an_accident_is_no_kill(kind, status):
    assert status_of(seen({"a": kind, "b": "pass"})) is status


@pytest.mark.parametrize("kind", ACCIDENTS)
def test_an_accident_beside_a_kill_takes_nothing_from_it(kind):
    assert status_of(seen({"a": kind, "b": "assert"}, {"b": "assert"})) is Status.KILLED


def test_a_lost_process_outranks_an_error():
    assert status_of(seen({"a": "error", "b": "crash"})) is Status.CRASH_ONLY
    assert status_of(seen({"a": "error", "b": "timeout"})) is Status.TIMEOUT_ONLY


def test_nothing_but_passes_is_survived():
    assert status_of(seen({"a": "pass", "b": "skipped"})) is Status.SURVIVED


def test_survived_as_declared_is_equivalent():
    assert status_of(seen({"a": "pass"}, equivalent=True)) is Status.EQUIVALENT


@pytest.mark.parametrize("first", [{}, {"a": "pass"}, {"a": "skipped"}])
@pytest.mark.parametrize("equivalent", [False, True])
def test_a_seam_that_no_test_enters_is_not_reached(first, equivalent):
    assert status_of(seen(first, hits=0, equivalent=equivalent)) is Status.NOT_REACHED


@pytest.mark.parametrize("kind", [*NOTICED, "error"])
def test_a_failure_without_the_seam_is_the_campaigns_own(kind):
    assert status_of(seen({"a": kind}, {"a": kind}, hits=0)) is Status.HARNESS


@pytest.mark.parametrize("kind", LOST)
def test_a_lost_process_took_its_count_with_it(kind):
    assert status_of(seen({"a": kind}, hits=0)) not in (Status.HARNESS, Status.NOT_REACHED)


@given(evidence)
def test_a_broken_campaign_says_nothing_of_the_fault(facts):
    assert status_of(replace(facts, harness="it failed")) is Status.HARNESS


@given(evidence)
def test_a_moved_seam_is_stale_whatever_ran(facts):
    assert status_of(replace(facts, stale="it moved", harness="")) is Status.STALE


@given(evidence)
def test_killed_needs_the_same_test_twice(facts):
    twice = {test for test in facts.first if facts.first[test] in NOTICED and facts.second.get(test) in NOTICED}

    if not twice:
        assert status_of(facts) is not Status.KILLED


@given(evidence)
def test_survived_needs_a_seam_that_was_entered(facts):
    if status_of(facts) in (Status.SURVIVED, Status.EQUIVALENT):
        assert facts.hits > 0
        assert set(facts.first.values()) <= set(QUIET)


@given(runs, runs)
def test_killers_are_kills_of_both_runs(first, second):
    assert set(killers(first, second)) == set(kills(first)) & set(kills(second))


@given(runs)
def test_kills_come_sorted(kinds):
    assert kills(kinds) == sorted(kills(kinds))


@pytest.mark.parametrize(
    ("kinds", "effect"),
    [
        ({}, Effect.MISSING),
        ({"a": "pass", "b": "pass"}, Effect.MATCHED),
        ({"a": "pass", "b": "assert"}, Effect.MISMATCHED),
        ({"a": "skipped"}, Effect.MISMATCHED),
        ({"a": "pass", "b": "timeout"}, Effect.MISMATCHED),
    ],
)
def test_an_effect_is_matched_when_all_of_its_tests_pass(kinds, effect):
    assert effect_of(kinds) is effect


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("effect", Effect)
def test_only_killed_and_understood_is_accepted(status, effect):
    understood = effect in (Effect.MATCHED, Effect.NOT_ASKED)

    assert accepted(status, effect, equivalent=False) == (status is Status.KILLED and understood)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("effect", Effect)
def test_what_is_declared_equivalent_must_be_found_so(status, effect):
    assert accepted(status, effect, equivalent=True) == (status is Status.EQUIVALENT)

"""The two scores, and what they must reach."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutation.source.mutant import Outcome
from mutation.source.score import assertion, complaints, count, interval, raw

outcomes = st.lists(st.sampled_from(Outcome), min_size=1)
ONE_OF_EACH = dict.fromkeys(Outcome, 1)


def of(**counts):
    """Counts by the names of the outcomes."""
    return {Outcome[name.upper()]: number for name, number in counts.items()}


def test_outcomes_are_counted():
    counts = count([Outcome.SURVIVED, Outcome.TIMEOUT, Outcome.SURVIVED])

    assert of(survived=2, timeout=1) == counts


def test_raw_counts_every_mutant_that_is_not_equivalent():
    assert raw(ONE_OF_EACH) == pytest.approx(2 / 7)


def test_assertion_score_leaves_out_what_cannot_run():
    assert assertion(ONE_OF_EACH) == pytest.approx(1 / 4)


@given(outcomes)
def test_an_equivalent_mutant_moves_neither_score(outcomes):
    with_one = count([*outcomes, Outcome.EQUIVALENT])

    assert (raw(count(outcomes)), assertion(count(outcomes))) == (raw(with_one), assertion(with_one))


@given(outcomes)
def test_a_mutant_that_stumbles_does_not_move_the_assertion_score(outcomes):
    assert assertion(count(outcomes)) == assertion(count([*outcomes, Outcome.ERROR_ONLY]))


@pytest.mark.parametrize("missed", [Outcome.SURVIVED, Outcome.NO_TESTS, Outcome.TIMEOUT])
def test_one_that_nobody_noticed_lowers_both_scores(missed):
    counts = {Outcome.ASSERTED: 3, missed: 1}

    assert (raw(counts), assertion(counts)) == (3 / 4, 3 / 4)


def test_nothing_to_count_is_no_score():
    assert (raw({}), assertion(of(error_only=1))) == (None, None)


def test_scores_at_the_limits_pass():
    assert [] == complaints({"a.py": of(asserted=98, survived=2)})
    assert [] == complaints({"a.py": of(asserted=85, error_only=1000, survived=15)})
    assert [] == complaints({"a.py": of(error_only=9, survived=1), "b.py": of(asserted=90)})


def test_a_module_without_mutants_of_its_own_is_no_complaint():
    assert [] == complaints({"a.py": of(equivalent=1), "b.py": of(asserted=1)})


def test_a_low_raw_score_is_told_with_its_limit():
    assert ["the raw score is 97.0% and must be 98%: test what survived"] == complaints(
        {"a.py": of(asserted=97, survived=3)}
    )


def test_a_low_assertion_score_is_told_with_its_limit():
    assert ["the assertion score is 84.0% and must be 85%: test what survived"] == complaints(
        {"a.py": of(asserted=84, survived=16, error_only=900)}
    )


def test_a_low_module_is_told_by_name_though_the_sum_is_high():
    assert ["the raw score of a.py is 80.0% and must be 90%: test what survived there"] == complaints(
        {"a.py": of(asserted=4, survived=1), "b.py": of(asserted=200)}
    )


def test_the_few_of_a_module_that_were_drawn_are_not_held_to_its_rule():
    modules = {"a.py": of(asserted=98), "b.py": of(survived=2)}

    assert [] == complaints(modules, each=False)
    assert ["b.py" in sentence for sentence in complaints(modules)] == [True]


@pytest.mark.parametrize(("share", "number", "low", "high"), [(0.5, 100, 0.4038, 0.5962), (1.0, 10, 0.7225, 1.0)])
def test_an_estimate_comes_with_wilsons_interval(share, number, low, high):
    # By the textbook, for a half of 100; and by n / (n + z^2) for all of ten.
    assert interval(share, number) == pytest.approx((low, high), abs=1e-4)

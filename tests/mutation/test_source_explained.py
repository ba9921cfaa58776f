"""A declaration that a mutant is equivalent holds only while that mutant is there and survives."""

import pytest

from mutation.source.explained import explain
from mutation.source.mutant import Change, Mutant, Outcome

ENTRY = Change("pkg.a.f", "x(-1)", "x(+1)")
OTHER = Change("pkg.a.f", "y", "z")


def mutant(number, outcome=Outcome.SURVIVED, **kills):
    return Mutant(f"pkg.a.x_f__mutmut_{number}", "pkg/a.py", outcome, kills)


def test_a_declared_survivor_is_equivalent():
    equivalent, refused = explain([mutant(1), mutant(2)], {mutant(1).name: OTHER, mutant(2).name: ENTRY}, [ENTRY])

    assert ({mutant(2).name}, []) == (equivalent, refused)


def test_mutants_of_other_functions_are_left_alone():
    assert (set(), []) == explain([mutant(1)], {}, [])


def test_what_follows_a_mutant_of_another_function_is_still_read():
    assert ({mutant(2).name}, []) == explain([mutant(1), mutant(2)], {mutant(2).name: ENTRY}, [ENTRY])


def test_an_entry_without_a_mutant_is_stale():
    equivalent, (told,) = explain([mutant(1)], {mutant(1).name: OTHER}, [ENTRY])

    assert set() == equivalent
    assert "pkg.a.f with 'x(+1)' for 'x(-1)' is declared equivalent, and there is no such mutant: delete" in told


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - {Outcome.SURVIVED}))
def test_an_entry_whose_mutant_does_not_survive_is_refused(outcome):
    equivalent, (told,) = explain([mutant(1, outcome)], {mutant(1).name: ENTRY}, [ENTRY])

    assert set() == equivalent
    assert f"{mutant(1).name} ended as {outcome} instead of surviving: delete the entry" in told


def test_the_test_that_killed_it_is_named():
    _, (told,) = explain([mutant(1, Outcome.ASSERTED, test_a="assert")], {mutant(1).name: ENTRY}, [ENTRY])

    assert "ended as asserted (by test_a) instead" in told


def test_one_entry_explains_one_of_two_equal_changes():
    same = {mutant(1).name: ENTRY, mutant(2).name: ENTRY}

    assert ({mutant(1).name}, []) == explain([mutant(1), mutant(2)], same, [ENTRY])
    assert ({mutant(1).name, mutant(2).name}, []) == explain([mutant(1), mutant(2)], same, [ENTRY, ENTRY])


def test_two_entries_for_equal_changes_of_which_one_dies_are_one_too_many():
    same = {mutant(1).name: ENTRY, mutant(2).name: ENTRY}
    equivalent, refused = explain([mutant(1), mutant(2, Outcome.ASSERTED)], same, [ENTRY, ENTRY])

    assert {mutant(1).name} == equivalent
    assert 1 == len(refused)

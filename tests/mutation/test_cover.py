"""The smallest set of tests is one, and says whether that is proven."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutation.cover import smallest_cover

kill_sets = st.dictionaries(st.sampled_from("ABCDEFGH"), st.frozensets(st.sampled_from("stuvwxyz"), max_size=5))


def kill_all(tests, killers):
    return all(set(found) & set(tests) for found in killers.values() if found)


@given(kill_sets)
def test_it_still_kills_all_that_is_killed(killers):
    assert kill_all(smallest_cover(killers).tests, killers)


@given(kill_sets)
def test_no_smaller_set_does(killers):
    cover = smallest_cover(killers)
    smaller = [chosen for size in range(len(cover.tests)) for chosen in combinations("stuvwxyz", size)]

    assert cover.exact
    assert not [chosen for chosen in smaller if kill_all(chosen, killers)]


def test_the_test_that_greed_takes_first_need_not_be_in_it():
    killers = {"A": ["s", "y"], "B": ["s", "greedy"], "C": ["t", "greedy"], "D": ["t", "z"]}

    assert ("s", "t") == smallest_cover(killers).tests


def test_faults_that_nothing_kills_need_no_test():
    assert ((), True) == (smallest_cover({"A": ()}).tests, smallest_cover({"A": ()}).exact)


def test_a_search_that_is_cut_short_promises_no_minimum():
    seven_points_seven_lines = {place: {str((place + step) % 7) for step in (0, 1, 3)} for place in range(7)}
    killers = {str(place): line for place, line in seven_points_seven_lines.items()}

    assert (3, True) == (len(smallest_cover(killers).tests), smallest_cover(killers).exact)
    assert not smallest_cover(killers, patience=3).exact
    assert kill_all(smallest_cover(killers, patience=3).tests, killers)


@pytest.mark.parametrize("patience", [0, 1])
def test_a_set_that_is_proven_without_a_search_is_exact(patience):
    assert smallest_cover({"A": ["s"], "B": ["t", "u"]}, patience).exact

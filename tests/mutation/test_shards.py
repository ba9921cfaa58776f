"""A campaign in parts tries each fault once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutation.scale.shards import faults_of, read_shard

names = st.lists(st.text("abc", min_size=1), min_size=1, max_size=20, unique=True)


@given(names, st.data())
def test_every_fault_is_in_exactly_one_part(names, data):
    parts = data.draw(st.integers(1, len(names)))

    dealt = [name for part in range(1, parts + 1) for name in faults_of(names, (part, parts))]

    assert sorted(names) == sorted(dealt)


@given(names, st.data())
def test_parts_are_of_the_same_size_but_for_one(names, data):
    parts = data.draw(st.integers(1, len(names)))

    sizes = [len(faults_of(names, (part, parts))) for part in range(1, parts + 1)]

    assert max(sizes) - min(sizes) <= 1


def test_the_order_in_which_the_faults_are_named_does_not_matter():
    assert ["a", "c"] == faults_of(["c", "b", "a"], (1, 2)) == faults_of(["a", "b", "c"], (1, 2))


def test_a_part_is_counted_from_one():
    assert (1, 1) == read_shard("1/1")
    assert (3, 12) == read_shard("3/12")


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "-1/2", "a/b", "1/2/3", "", " 1/2"])
def test_another_part_is_refused(text):
    with pytest.raises(ValueError, match=f"--shard '{text}': give I/N"):
        read_shard(text)


def test_more_parts_than_faults_are_refused():
    with pytest.raises(ValueError, match="--shard 1/3 parts 2 faults: ask for at most 2 parts"):
        faults_of(["a", "b"], (1, 3))

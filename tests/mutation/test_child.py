"""What a child books on each test."""

from mutation.child import gained


def test_calls_of_one_test_are_what_was_added():
    assert {"a": 2, "c": 1} == gained({"a": 3, "b": 5}, {"a": 5, "b": 5, "c": 1})

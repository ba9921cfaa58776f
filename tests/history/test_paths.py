"""What is told of another environment names no folder of this machine."""

import pytest

from instrument.history.paths import shortened


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "cannot import X from 'transformers' (/a/b-1.0/c/__init__.py)",
            "cannot import X from 'transformers' (__init__.py)",
        ),
        ("No such file: '/tmp/x/y.json'", "No such file: 'y.json'"),
        ("see https://github.com/a/b/issues/1", "see https://github.com/a/b/issues/1"),
        ("give int/float, 48/56 of a/b", "give int/float, 48/56 of a/b"),
    ],
)
def test_a_path_is_told_by_its_last_part(text, told):
    assert told == shortened(text)

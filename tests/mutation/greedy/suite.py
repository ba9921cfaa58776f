"""One test for each function."""

import pytest
import toy


@pytest.mark.parametrize("name", ["hoard", "hoard_elsewhere", "chatter", "fill"])
def test_adds_one(name):
    assert getattr(toy, name)(1) == 2

"""What only a cold campaign can judge: a value computed, and a name imported, while the file is collected."""

import toy
from toy import vanishing

TABLE = toy.tabulated(1)


def test_what_was_computed():
    assert TABLE == 2


def test_what_was_imported():
    assert vanishing(1) == 2

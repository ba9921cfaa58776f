"""The tests that plant one fault each: all of them pass but one, and one fault has none."""

import pytest
from planted_faults import FAULTS


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "unmeasured"])
def test_effect(name, record_property):
    record_property("measured", 3)

    assert name != "denied"

"""One test for each fault, and one that is of none."""

import pytest


@pytest.mark.parametrize("name", ["added", "doubled", "kept"])
def test_effect(name):
    assert name


@pytest.mark.parametrize("scenario", ["toy"])
def test_every_scenario_has_a_fault(scenario):
    assert scenario

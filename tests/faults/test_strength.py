"""A weaker form of a fault is the same defect, mixed with the right code."""

import inspect

import pytest

from faults import CATALOGUE, WEAKENED
from faults._strength import weaker

FORMS = [name for name, fault in CATALOGUE.items() if fault.dilutes]


def test_every_fault_that_dilutes_has_weaker_forms_and_no_other_has():
    takes = [name for name, fault in CATALOGUE.items() if "strength" in inspect.signature(fault.patch).parameters]

    assert [name.removesuffix("@1") for name in WEAKENED] == FORMS == takes
    assert len(WEAKENED) == len(FORMS) > 0
    assert "own_loss_ignored@0.1" not in WEAKENED


@pytest.mark.parametrize(
    "name", ["nothing@0.1", "summed_not_averaged@0", "summed_not_averaged@1.5", "summed_not_averaged"]
)
def test_what_is_no_share_of_a_fault_is_not_found(name):
    assert name not in WEAKENED


@pytest.mark.parametrize("strength", [0.0, -0.1, 1.1, float("nan")])
def test_a_strength_is_a_share(strength):
    with pytest.raises(ValueError, match=r"^strength .*: give a share of the fault, above 0 and at most 1$"):
        weaker(CATALOGUE["summed_not_averaged"], strength)


def test_a_fault_without_weaker_forms_says_so():
    with pytest.raises(ValueError, match=r"^the fault at .*compute_loss has no weaker form .dilutes is empty.: leave"):
        weaker(CATALOGUE["own_loss_ignored"], 0.1)


@pytest.mark.parametrize("name", FORMS)
def test_at_full_strength_it_is_the_fault_itself(name):
    fault = CATALOGUE[name]
    whole = weaker(fault, 1.0)

    assert (whole.seam, whole.effect, whole.visible) == (fault.seam, fault.effect, fault.visible)

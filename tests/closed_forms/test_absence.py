"""Which part of a run each form says is touched."""

import numpy as np
import pytest

from closed_forms.absence import (
    nothing,
    only_hooks,
    only_modes,
    only_parameters,
    only_random_state,
    what_is_drawn,
)
from tests.closed_forms.compare import assert_weights

PARTS = ["parameters", "random state", "modes", "hooks"]
ONE = {"parameters": only_parameters, "random state": only_random_state, "modes": only_modes, "hooks": only_hooks}


def test_a_right_instrument_touches_nothing():
    assert_weights([[0, 0, 0, 0]], nothing(PARTS))


def test_what_is_drawn_moves_parameters_too():
    assert_weights([[1, 1, 0, 0]], what_is_drawn(PARTS))


@pytest.mark.parametrize("part", PARTS)
def test_a_form_touches_the_part_in_its_name(part):
    assert_weights([[float(part == other) for other in PARTS]], ONE[part](PARTS))


@pytest.mark.parametrize("form", [nothing, *ONE.values()])
def test_parts_are_marked_in_float64(form):
    assert [row.dtype for row in form(PARTS)] == [np.dtype(np.float64)]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_nobody_compared_is_refused(part):
    with pytest.raises(ValueError, match=f"parts=.* lacks '{part}': compare it too"):
        ONE[part]([other for other in PARTS if other != part])

"""A reference that follows its policy, on numbers that can be worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.moving_reference import bias_corrected, synchronized

POLICY = [[0.0], [4.0], [8.0], [16.0]]
counts = st.integers(1, 3)


def numbers(found):
    return [float(values[0]) for values in found]


def test_every_second_step_mixes():
    assert numbers(synchronized(POLICY, [2.0], 0.25, 2)) == [2, 2, 3 / 4 * 2 + 1 / 4 * 8, 3.5]


def test_every_step_mixes_what_was_mixed():
    assert numbers(synchronized(POLICY, [2.0], 0.5, 1)) == [2, 3, 5.5, 10.75]


def average(policy=POLICY, reference=(2.0,), **options):
    steps = {"every": 1, "after": 0, "reference_every": 1, "reference_after": 0}
    powers = {"ema_power": 1.0, "bias_power": 1.0, "lag": 1.0}
    return bias_corrected(policy, reference, **{**steps, **powers, **options})


def test_an_average_and_what_it_lags_behind():
    # Step 1: beta = alpha = 1/2. ema = 2, and 2 of the way from 0 to 4. Step 2: 1/3. Step 3: 1/4.
    second = 2 * 2 / 3 + 8 / 3
    third = second * 3 / 4 + 16 / 4
    np.testing.assert_allclose(numbers(average()), [2, 2 + 2, second + 8 / 3, third + 4], rtol=1e-15)


def test_a_least_share_of_the_policy():
    np.testing.assert_allclose(numbers(average(least=0.75))[1], 3 + 2)


def test_the_age_of_an_average_grows_by_the_multiplier():
    np.testing.assert_allclose(numbers(average(multiplier=3.0))[1], 4 / 4 + 4 / 4)


def test_powers_of_nothing_give_the_policy_and_all_it_moved():
    assert numbers(average(ema_power=0.0, bias_power=0.0)) == [2, 8, 16, 32]


def test_an_average_starts_where_it_is_told():
    # It starts at 8; step 3: beta = alpha = 1/4.
    later = 8 * 3 / 4 + 16 / 4 + 8 / 4
    np.testing.assert_allclose(numbers(average(after=2)), [2, 0, 0, later])
    np.testing.assert_allclose(numbers(average(after=2, began=False)), [2, 0, 8, later])


def test_an_average_is_taken_every_so_many_steps_from_its_start():
    # After step 1, so at step 3 alone: 1/4 of the way from 4 to 16, and 1/4 of all that.
    np.testing.assert_allclose(numbers(average(after=1, every=2)), [2, 0, 0, 4 * 3 / 4 + 16 / 4 + 12 / 4])


def test_the_reference_takes_it_every_so_many_steps_from_its_own_start():
    whole = numbers(average())

    assert numbers(average(reference_every=2, reference_after=1)) == [2, whole[1], whole[1], whole[3]]
    assert numbers(average(reference_after=3)) == [2, 2, 2, whole[3]]
    assert numbers(average(reference_every=2)) == [2, 2, whole[2], whole[2]]


@given(counts, st.integers(0, 3), counts, st.integers(0, 3))
def test_a_policy_that_stands_still_is_its_own_average(every, after, reference_every, reference_after):
    options = {"every": every, "after": after, "reference_every": reference_every, "reference_after": reference_after}

    found = bias_corrected([[3.0, 1.0]] * 5, [3.0, 1.0], **options)
    np.testing.assert_allclose(found, [[3.0, 1.0]] * 5, rtol=1e-15)


@pytest.mark.parametrize("form", [lambda p, r: synchronized(p, r, 0.5, 1), average])
def test_other_arrays_are_refused(form):
    with pytest.raises(ValueError, match="policy needs the parameters of a window, got none"):
        form([], [1.0])
    with pytest.raises(ValueError, match=r"policy must have shape \[1\], got \[2\]"):
        form([[1.0, 2.0]], [1.0])
    with pytest.raises(ValueError, match="reference must be finite, got nan"):
        form([[1.0]], [np.nan])


@pytest.mark.parametrize("steps", [0, -1, 1.5])
def test_steps_are_counted_from_one(steps):
    with pytest.raises(ValueError, match=f"every must be a whole number from 1, got {steps}: how many steps"):
        synchronized(POLICY, [2.0], 0.5, steps)
    with pytest.raises(ValueError, match=f"reference_every must be a whole number from 1, got {steps}"):
        average(reference_every=steps)


def test_a_share_is_between_nothing_and_all():
    with pytest.raises(ValueError, match=r"alpha must be one of 0 to 1, got alpha=1\.5"):
        synchronized(POLICY, [2.0], 1.5, 1)


def test_an_age_is_positive():
    with pytest.raises(ValueError, match=r"lag \+ multiplier t must be positive and finite"):
        average(lag=-1.0)

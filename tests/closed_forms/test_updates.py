"""Laws of the clip, of the moments and of the steps, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import updates

positive = st.floats(1e-3, 1e3)
norms = st.lists(st.floats(0, 100), min_size=1, max_size=5)
values = st.lists(st.integers(-80, 80).map(lambda n: n / 8), min_size=3, max_size=3)


@given(norms, positive)
def test_a_clipped_gradient_is_never_longer_than_the_limit(n, max_norm):
    assert updates.clip_factor(n, max_norm) * np.sqrt(np.sum(np.square(n))) <= max_norm * (1 + 1e-12)


@given(norms, positive, positive)
def test_clipping_before_the_scale_is_undone_shortens_the_step(n, max_norm, scale):
    scaled = updates.clip_factor(np.asarray(n) * (1 + scale), max_norm)

    assert scaled <= updates.clip_factor(n, max_norm)


def test_a_clip_by_hand():
    assert updates.clip_factor([3, 4], 1.0) == pytest.approx(1 / 5, rel=1e-6)
    assert updates.clip_factor([3, 4], 5.1) == 1.0


@given(values)
def test_moments_of_a_gradient_that_stays_the_same_are_the_gradient(g):
    m, v = updates.moments(g, g, np.square(g), 0.9, 0.99)

    np.testing.assert_allclose(m, g)
    np.testing.assert_allclose(v, np.square(g))


@given(values)
def test_the_first_step_of_adam_is_the_rate_wherever_there_is_a_gradient(g):
    m, v = updates.moments(g, np.zeros(3), np.zeros(3), 0.9, 0.99)
    change = updates.adam_change(np.ones(3), m, v, 1, 0.1, 0.9, 0.99, 0.0, 0.0)

    np.testing.assert_allclose(change, np.where(np.abs(m) > 0, -0.1 * np.sign(g), 0), atol=1e-12, rtol=1e-3)


def test_decoupled_decay_pulls_to_zero_by_the_rate_times_it():
    change = updates.adam_change([2.0], [0.0], [0.0], 3, 0.1, 0.9, 0.99, 1e-8, 0.5)

    np.testing.assert_allclose(change, [-0.1 * 0.5 * 2])


def test_coupled_decay_is_a_gradient():
    np.testing.assert_allclose(updates.decayed([1.0], [2.0], 0.5), [2.0])


def test_momentum_starts_with_the_gradient_and_dampens_later_ones():
    np.testing.assert_allclose(updates.buffer([1.0], None, 0.9, 0.5), [1.0])
    np.testing.assert_allclose(updates.buffer([1.0], [2.0], 0.9, 0.5), [0.9 * 2 + 0.5])


def test_each_kind_of_sgd_step():
    assert -0.1 == updates.sgd_change([1.0], None, 0.1, 0.0, False)
    assert -0.2 == updates.sgd_change([1.0], [2.0], 0.1, 0.9, False)
    np.testing.assert_allclose(updates.sgd_change([1.0], [2.0], 0.1, 0.9, True), [-0.1 * (1 + 0.9 * 2)])


@given(positive, positive)
def test_rounding_of_a_change_grows_with_parameter_and_change(p, d):
    error = updates.change_error(p, d, d, "float32")

    assert error == pytest.approx((3 * p + 14 * d) * 2**-24)
    assert updates.change_error(-p, -d, -d, "bfloat16") == pytest.approx(2**16 * error)


def test_rounding_of_a_sum_grows_with_its_spread_and_length():
    assert updates.sum_tolerance(1.0, 1, "float32") == 8 * 2**-24
    assert updates.sum_tolerance(3.0, 4, "float64") == pytest.approx(3 * 12 * 2**-53)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: updates.clip_factor([1.0], 0.0), "max_norm=0.0"),
        (lambda: updates.clip_factor([-1.0], 1.0), "got -1.0"),
        (lambda: updates.clip_factor([np.inf], 1.0), "got inf"),
        (lambda: updates.moments([1.0], [0.0], [0.0], 1.0, 0.9), "beta1=1.0"),
        (lambda: updates.moments([1.0], [0.0], [0.0], 0.9, -0.1), "beta2=-0.1"),
        (lambda: updates.adam_change([1.0], [0.0], [0.0], 0, 0.1, 0.9, 0.9, 1e-8, 0.0), "step=0"),
        (lambda: updates.sum_tolerance(0.5, 1, "float32"), "got 0.5"),
        (lambda: updates.sum_tolerance(1.0, 0, "float32"), "got 0"),
    ],
)
def test_what_no_step_can_be_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()

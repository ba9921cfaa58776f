"""How far a weight may be off that a trainer computes in float32."""

import numpy as np

from instrument.objective_bounds import with_arithmetic

SMALLEST = np.finfo(np.float32).tiny
u = 2.0**-24


def test_what_is_smaller_than_any_normal_number_may_be_lost_and_zeros_add_up_to_zero():
    allowed = with_arithmetic(np.zeros(4), np.array([0.0, 1e-76, -1.0, 2.0]))

    np.testing.assert_allclose(allowed, [0, SMALLEST, 240 * u, 480 * u], rtol=1e-9, atol=0)


def test_a_weight_of_which_a_tenth_is_rounding_cannot_be_told():
    assert np.isnan(with_arithmetic(np.array([0.2, 0.05]), np.array([-1.0, 1.0]))).tolist() == [True, False]

"""Clips and loss scales that are wrong, worked out by hand."""

import numpy as np
import pytest

from closed_forms import wrong_clips as w

NORMS = [3.0, 4.0, 12.0, 0.0]


def test_a_scale_that_is_undone_twice_leaves_nothing_to_clip():
    np.testing.assert_allclose(w.unscaled_twice(NORMS, 13.0, 2.0)[0], [1 / 4] * 4)
    np.testing.assert_allclose(w.unscaled_twice(NORMS, 1.3, 2.0)[0], [1 / 4 * 1.3 / 6.5] * 4, rtol=1e-6)


def test_the_norm_of_the_first_half_clips_all():
    np.testing.assert_allclose(w.clipped_by_norm_of_some(NORMS, 1.0, 2.0)[0], [1 / 5 / 2] * 4, rtol=1e-6)


def test_the_first_micro_batch_is_clipped_and_the_second_is_not():
    np.testing.assert_allclose(w.clipped_on_the_way(NORMS, 1.3)[0], [0, 1 / 10, 1], rtol=1e-6)


def test_a_limit_below_zero_is_refused():
    with pytest.raises(ValueError, match="max_norm=-1"):
        w.clipped_on_the_way(NORMS, -1.0)

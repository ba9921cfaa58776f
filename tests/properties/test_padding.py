"""R4: side and amount of padding change nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.loops import LOOPS, measure
from tests.strategies import shapes


@pytest.mark.parametrize("instrument", ["probe", "live"])
@pytest.mark.parametrize("loop", LOOPS)
@given(shape=shapes(), side=st.sampled_from(["left", "right"]), pad_to=st.integers(0, 12))
def test_padding_has_no_gradient_and_moves_no_weight(instrument, loop, shape, side, pad_to):
    plain, _ = measure(instrument, loop, shape)
    padded, _ = measure(instrument, loop, shape, padding_side=side, pad_to=pad_to)

    padded.assert_weights(plain_weights(plain), tol=2 * plain.rounding() * largest(plain))
    assert [0.0] * len(padded.windows) == [window.padding for window in padded.windows]


def plain_weights(report):
    """[row][n] weights of the intended targets."""
    return [row.weight[row.intended] for row in report.rows]


def largest(report):
    """Largest weight times N."""
    return max(row.weight.max() * window.targets() for window in report.windows for row in window.rows)

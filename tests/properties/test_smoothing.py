"""R2 under label smoothing: every target keeps the same share of its own weight, whatever the split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.loops import measure
from tests.properties.strategies import few
from tests.strategies import shapes


@pytest.mark.parametrize("instrument", ["probe", "live"])
@few
@given(shape=shapes(), smoothing=st.floats(0.05, 0.5))
def test_every_target_keeps_its_share_of_one_over_the_window(instrument, shape, smoothing):
    report, _ = measure(instrument, "trainer", shape, label_smoothing_factor=smoothing)

    for rows in shape.windows():
        targets = sum(sum(shape.labelled[b]) for b in rows)
        for b in rows:
            expected = (1 - smoothing) * np.array(shape.labelled[b]) / targets
            np.testing.assert_allclose(report.weights[b], expected, rtol=2 * report.rounding(), atol=0)

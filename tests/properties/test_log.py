"""R8: the logged loss equals the objective that was differentiated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.loops import measure
from tests.strategies import shapes

# The log is a float32 sum of at most 50 losses, each a logarithm of a float32 softmax: 16 roundings are above both.
RTOL = 16 * 2.0**-24


@pytest.mark.parametrize("instrument", ["probe", "live"])
@pytest.mark.parametrize("loop", ["trainer", "by hand"])
@given(shape=shapes())
def test_the_logged_loss_is_the_objective(instrument, loop, shape):
    report, logged = measure(instrument, loop, shape)

    assert pytest.approx([window.objective() for window in report.windows], rel=RTOL) == logged


@given(shape=shapes(), every=st.integers(2, 4))
def test_the_log_of_the_first_step_is_its_objective_however_rarely_is_logged(shape, every):
    report, logged = measure("probe", "trainer", shape, logging_steps=every, logging_first_step=True)

    assert pytest.approx(report.windows[0].objective(), rel=RTOL) == logged[0]


@pytest.mark.parametrize("instrument", ["probe", "live"])
@given(shape=shapes())
def test_the_accelerate_loop_logs_the_mean_of_the_micro_batches_that_ran(instrument, shape):
    report, logged = measure(instrument, "accelerate", shape)

    # What it differentiates is divided by the configured number, also in a window that is not full.
    means = [window.objective() * shape.accumulation / window.micro_batches for window in report.windows]
    assert pytest.approx(means, rel=RTOL) == logged


@pytest.mark.parametrize("instrument", ["probe", "live"])
@given(shape=shapes(), smoothing=st.floats(0.01, 0.5))
def test_the_logged_loss_is_the_objective_under_label_smoothing(instrument, shape, smoothing):
    report, logged = measure(instrument, "trainer", shape, label_smoothing_factor=smoothing)

    assert pytest.approx([window.objective() for window in report.windows], rel=report.rounding()) == logged

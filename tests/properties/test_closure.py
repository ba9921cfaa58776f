"""R11: the optimizer consumes what the tokens contributed, and parameters move by its rule."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from closed_forms.updates import clip_factor
from closed_forms.wrong_steps import linear_rate
from tests.properties.updates import (
    OPTIMIZERS,
    added_up,
    by_accelerate,
    by_hand,
    by_trainer,
    in_closures,
    under_loss_scale,
)
from tests.strategies import Shape, shapes

few = settings(max_examples=max(2, settings.default.max_examples // 12))
clips = st.sampled_from([None, 0.1, 1e3])


def assert_closed(report):
    """Every stage of every window is right, and said to be so."""
    for window, verdict in zip(report.windows, report.verdicts):
        assert () == verdict.faults
        assert "" == verdict.stage
        for found in window.after.sums:
            np.testing.assert_allclose(found.scale, 1, rtol=1e-4)
        assert {"last norm", "head", "embedding rows"} == {found.place for found in window.after.sums}


def assert_summed(report):
    """The gradient of the window before is in none, and every micro-batch once."""
    for window in report.windows:
        shares = window.after.sums[0].shares
        if shares:
            np.testing.assert_allclose(shares, [0] + [1] * window.micro_batches, rtol=1e-3)


@pytest.mark.parametrize("kind", OPTIMIZERS)
@few
@given(shape=shapes(), max_norm=clips)
def test_a_loop_by_hand_closes(kind, shape, max_norm):
    report = by_hand(shape, kind, max_norm)

    assert_closed(report)
    assert_summed(report)
    assert all(1 == window.after.step.steps for window in report.windows)


@pytest.mark.parametrize("kind", OPTIMIZERS)
@few
@given(shape=shapes(), max_norm=st.sampled_from([0.1, 1e3]))
def test_a_loop_that_ends_its_windows_in_closures_closes(kind, shape, max_norm):
    report = in_closures(shape, kind, max_norm)

    report.assert_token_mean()
    assert_closed(report)
    assert_summed(report)


@pytest.mark.parametrize("kind", ["AdamW", "fused AdamW", "SGD"])
@few
@given(shape=shapes(), max_norm=st.sampled_from([0.1, 1e3]))
def test_a_loop_under_a_loss_scale_closes(kind, shape, max_norm):
    report = under_loss_scale(shape, kind, max_norm)

    assert_closed(report)
    for window in report.windows:
        norm, factor = np.sqrt(np.sum(window.after.before**2)) / 1024, window.after.factor()
        # A gradient of exactly 0 has no factor.
        assert np.isnan(factor).sum() == (window.after.before == 0).sum()
        np.testing.assert_allclose(factor[~np.isnan(factor)] * 1024, clip_factor([norm], max_norm), rtol=1e-3)
        assert 1 == window.after.step.steps


@few
# Twice, four and eight times the right weights are what a loss scale gives too, and a clip leaves the same step.
@example(shape=Shape((4,) * 8, ((True,) * 3,) * 8, 1, 2, 0), told=True)
@example(shape=Shape((4,) * 8, ((True,) * 3,) * 8, 2, 4, 0), told=False)
@example(shape=Shape((5, 4, 7, 3), ((True,) * 4, (True,) * 3, (True,) * 6, (True,) * 2), 1, 4, 0), told=True)
@given(shape=shapes(min_accumulation=2, masks=False), told=st.booleans())
def test_means_that_are_added_up_pass_for_no_loss_scale_under_a_clip(shape, told):
    report = added_up(shape, 1e-3, told)

    for window, verdict in zip(report.windows, report.verdicts):
        if len(window.counts()) > 1:
            assert any("sum of micro-batch means" in name for name in (verdict.name, *verdict.same))
        assert (len(window.counts()) == 1) == verdict.ok


@few
# A clip behind each backward shows where there are two.
@example(shape=Shape((3, 4, 5, 3), ((True,) * 2, (True,) * 3, (True,) * 4, (True,) * 2), 1, 2, 0), max_norm=0.1)
@given(shape=shapes(max_rows=6), max_norm=st.sampled_from([0.1, 1e3]))
def test_the_trainer_closes(shape, max_norm):
    report = by_trainer(shape, max_norm)

    assert_closed(report)
    assert_summed(report)
    steps = len(shape.windows())
    for number, window in enumerate(report.windows):
        step, flat = window.after.step, window.after.dims < 2
        np.testing.assert_allclose(step.rate, linear_rate(1e-2, number, steps))
        np.testing.assert_array_equal(step.decay, np.where(flat, 0, 0.1))
        np.testing.assert_array_equal(step.groups, 1)


# A schedule that advances before the optimizer is what the test is there to notice.
@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step:UserWarning")
@few
# A schedule shows from the second window on.
@example(shape=Shape((3, 4, 5, 3), ((True,) * 2, (True,) * 3, (True,) * 4, (True,) * 2), 1, 2, 0))
@given(shape=shapes(min_accumulation=2, masks=False))
def test_an_accelerate_loop_closes_behind_its_loss(shape):
    if len(shape.micro_batches()) < shape.accumulation:
        shape = shape.__class__(shape.lengths, shape.labelled, 1, 1, shape.seed)
    report = by_accelerate(shape)

    assert_summed(report)
    for number, (window, verdict) in enumerate(zip(report.windows, report.verdicts)):
        assert [] == [fault for fault in verdict.faults if "token weights follow" not in fault]
        np.testing.assert_allclose(window.after.step.rate, linear_rate(0.1, number, 12))

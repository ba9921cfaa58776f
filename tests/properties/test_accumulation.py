"""R1: weights do not depend on how the rows are split into micro-batches, tails and epoch ends included."""

import numpy as np
import pytest
from hypothesis import given

from closed_forms.aggregation import mean_of_micro_batch_means, short_window
from instrument import expected_weights, make_batch, watch, xray
from instrument.loops.trainer import run_trainer
from tests.properties.loops import live_model, live_rows, measure
from tests.properties.strategies import few
from tests.strategies import shapes

instruments = pytest.mark.parametrize("instrument", ["probe", "live"])


@instruments
@pytest.mark.parametrize("loop", ["trainer", "by hand"])
@given(shape=shapes())
def test_every_target_weighs_one_over_the_windows_targets(instrument, loop, shape):
    report, _ = measure(instrument, loop, shape)

    report.assert_token_mean()


@instruments
@given(shape=shapes(max_rows=4))
def test_a_second_epoch_weighs_its_targets_as_the_first(instrument, shape):
    report, _ = measure(instrument, "trainer", shape, num_train_epochs=2)

    report.assert_token_mean()
    counts = [window.counts() for window in report.windows]
    assert counts == 2 * counts[: len(shape.windows())]


@instruments
@given(shape=shapes(min_accumulation=2))
def test_the_accelerate_loop_is_a_mean_of_micro_batch_means(instrument, shape):
    report, _ = measure(instrument, "accelerate", shape)

    # A window that is not full is divided by the configured number of micro-batches all the same.
    report.assert_weights(expected_weights(report, short_window, accumulation=shape.accumulation))


@instruments
@given(shape=shapes())
def test_a_head_that_takes_no_count_averages_the_micro_batch_means_that_ran(instrument, shape):
    report, _ = measure(instrument, "trainer", shape, prepare=takes_no_count)

    report.assert_weights(expected_weights(report, mean_of_micro_batch_means))


def takes_no_count(model):
    """As some thirty heads of transformers declare: the Trainer then divides each micro-batch's mean by M."""
    model.accepts_loss_kwargs = False


@instruments
@pytest.mark.parametrize("loop", ["trainer", "by hand", "accelerate"])
@given(shape=shapes())
def test_each_row_runs_in_exactly_one_window(instrument, loop, shape):
    report, _ = measure(instrument, loop, shape)

    expected = [[sum(shape.labelled[b]) for b in window] for window in shape.windows()]
    assert expected == [[int(row.scored.sum()) for row in window.rows] for window in report.windows]
    assert not any(window.carried for window in report.windows)


@instruments
@given(shape=shapes(min_accumulation=2))
def test_the_verdict_names_what_the_accelerate_loop_does(instrument, shape):
    report, _ = measure(instrument, "accelerate", shape)

    for window, verdict in zip(report.windows, report.verdicts):
        m = window.micro_batches
        n_m = [sum(counts) for counts in window.counts()]
        means = f"mean of micro-batch means, M = {m}"
        if m == shape.accumulation and len(set(n_m)) > 1:
            assert verdict.name == means
        if m == shape.accumulation and len(set(n_m)) == 1:
            assert verdict.name == "token mean"
            assert m == 1 or means in verdict.same


@few
@given(shape=shapes(masks=False))
def test_forwards_that_share_a_backward_are_all_read(shape):
    rows, model = live_rows(shape.lengths, shape.seed), live_model(shape.seed)
    with watch(model) as report:
        losses = [model(**make_batch([row])).loss * (len(row) - 1) for row in rows]
        (sum(losses) / sum(len(row) - 1 for row in rows)).backward()

    report.assert_token_mean()
    assert sorted(rows) == sorted(row.ids.tolist() for row in report.rows)


def test_rows_of_another_split_weigh_the_same():
    lengths, seed = (5, 9, 3, 7), 3

    whole = xray(lambda m, rows: run_trainer(m, rows, micro_batch=4), lengths, seed)
    split = xray(lambda m, rows: run_trainer(m, rows, micro_batch=1, accumulation=4), lengths, seed)

    for a, b in zip(whole.weights, split.weights):
        np.testing.assert_allclose(a, b, rtol=2 * split.rounding())

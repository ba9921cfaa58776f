"""R2, and R1 and R6 on two ranks: weights do not depend on how the rows are split over data-parallel ranks."""

import numpy as np
import pytest
from hypothesis import given

from closed_forms.aggregation import per_rank_mean, scaled, short_window
from instrument import tracer_rows, watch
from instrument.loops.trainer import run_trainer
from tests.properties.loops import labels_of, live_model, live_rows
from tests.properties.strategies import RANKS, few, rank_shapes
from tests.ranks.jobs import probed, watched
from tests.ranks.pool import measured

instruments = pytest.mark.parametrize("instrument", ["probe", "live"])


def rows_and_labels(shape):
    rows = live_rows(shape.lengths, shape.seed)
    return rows, labels_of(rows, shape.labelled)


def on_two(loop, shape, instrument="live", **options):
    """The report of a run on two ranks."""
    split = {"micro_batch": shape.micro_batch, "accumulation": shape.accumulation, **options}
    if instrument == "probe":
        return measured(probed, loop, tracer_rows(shape.lengths, shape.seed), shape.labelled, split)
    return measured(watched, loop, shape.seed, *rows_and_labels(shape), split)


def expected_over_ranks(report, form):
    """[row] a closed form on the counts of each window's ranks, in the order of the report's rows."""
    found = []
    for window in report.windows:
        by_id = dict(zip(map(id, window.by_micro_batch()), form(window.counts_by_rank())))
        found += [by_id[id(row)] for row in window.rows]
    return found


@instruments
@pytest.mark.parametrize("loop", ["trainer", "ddp"])
@few
@given(shape=rank_shapes())
def test_every_target_weighs_one_over_the_targets_of_all_ranks(instrument, loop, shape):
    report = on_two(loop, shape, instrument)

    report.assert_token_mean()
    assert report.ok


@pytest.mark.parametrize("loop", ["trainer", "ddp", "accelerate"])
@few
@given(shape=rank_shapes())
def test_an_unlabelled_token_weighs_exactly_nothing_on_two_ranks(loop, shape):
    report = on_two(loop, shape)

    assert sum(sum(marks) for marks in shape.labelled) == sum(int(row.scored.sum()) for row in report.rows)
    for row in report.rows:
        assert not row.weight[~row.scored].any()
        assert row.weight[row.scored].all()


@few
@given(shape=rank_shapes())
def test_a_run_on_two_ranks_weighs_each_target_as_a_run_on_one(shape):
    rows, labels = rows_and_labels(shape)
    model = live_model(shape.seed)
    with watch(model) as one:
        run_trainer(model, rows, labels, micro_batch=RANKS * shape.micro_batch, accumulation=shape.accumulation)

    two = on_two("trainer", shape)

    for alone, shared in zip(one.windows, two.windows, strict=True):
        expected = sorted((row.ids.tolist(), row.weight.tolist()) for row in alone.rows)
        found = sorted((row.ids.tolist(), row.weight.tolist()) for row in shared.rows)
        for (ids, weight), (same_ids, same_weight) in zip(expected, found, strict=True):
            assert ids == same_ids
            np.testing.assert_allclose(weight, same_weight, rtol=2 * two.rounding())


@pytest.mark.parametrize("loop", ["trainer", "ddp", "accelerate"])
@few
@given(shape=rank_shapes())
def test_each_row_runs_in_its_window_on_one_of_the_ranks(loop, shape):
    report = on_two(loop, shape)

    size = RANKS * shape.micro_batch * shape.accumulation
    scored = [sum(marks) for marks in shape.labelled]
    expected = [sorted(scored[start : start + size]) for start in range(0, len(scored), size)]
    assert expected == [sorted(int(row.scored.sum()) for row in window.rows) for window in report.windows]


@instruments
@few
@given(shape=rank_shapes())
def test_without_averaging_tokens_every_rank_takes_its_own_mean(instrument, shape):
    report = on_two("trainer", shape, instrument, average_tokens_across_devices=False)

    report.assert_weights(expected_over_ranks(report, per_rank_mean))
    for window, verdict in zip(report.windows, report.verdicts):
        first, second = (sum(map(sum, counts)) for counts in window.counts_by_rank())
        name = "token mean" if first == second else "mean of per-rank means, R = 2"
        assert verdict.name == name


@few
@given(shape=rank_shapes())
def test_the_accelerate_loop_averages_the_ranks_means_of_micro_batch_means(shape):
    report = on_two("accelerate", shape)

    def form(ranks):
        rows = [row for n_mb in ranks for row in short_window(n_mb, accumulation=shape.accumulation)]
        return scaled(rows, 1 / RANKS)

    report.assert_weights(expected_over_ranks(report, form))


@pytest.mark.parametrize("loop", ["trainer", "ddp"])
def test_three_ranks_weigh_each_target_alike(loop):
    rows = live_rows([4, 7, 5, 3, 6, 8], 0)
    report = measured(watched, loop, 0, rows, rows, {"micro_batch": 1, "accumulation": 2}, ranks=3)

    report.assert_token_mean()
    report.assert_each_sample_once(rows)
    assert {0, 1, 2} == {row.rank for row in report.rows}


@pytest.mark.parametrize("accumulation", [1, 2])
@few
@given(shape=rank_shapes(uneven=True))
def test_rows_that_fill_up_the_ranks_weigh_as_any_other(accumulation, shape):
    rows, labels = rows_and_labels(shape)

    report = measured(
        watched, "trainer", shape.seed, rows, labels, {"micro_batch": shape.micro_batch, "accumulation": accumulation}
    )

    report.assert_token_mean()


@few
@given(shape=rank_shapes(min_accumulation=2))
def test_synchronising_in_every_micro_batch_changes_no_weight(shape):
    often, once = (on_two("ddp", shape, no_sync=no_sync) for no_sync in (False, True))

    for a, b in zip(often.weights, once.weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=2 * often.rounding())


@few
@given(shape=rank_shapes())
def test_ranks_that_never_average_are_told(shape):
    report = on_two("ddp", shape, averaged=False)

    for verdict in report.verdicts:
        assert any("about to step on different gradients" in fault for fault in verdict.faults)

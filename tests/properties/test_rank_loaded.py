"""R2, R11 and R12 where the real Trainer trains a model that transformers has sharded while it loaded it."""

import pytest
from hypothesis import given

from instrument.codes import code_of
from instrument.ranks import merge
from instrument.report.report import Report
from tests.properties.loops import labels_of, live_rows
from tests.properties.parted import assert_closed
from tests.properties.strategies import few, rank_shapes
from tests.ranks import load_jobs
from tests.ranks.pool import on_ranks

pytestmark = pytest.mark.spawn
LENGTHS = [4, 7, 5, 3, 6, 8, 4, 5]


def two_windows(config=None, **options):
    """What each rank hands over of two windows of two micro-batches of a row."""
    rows = live_rows(LENGTHS, 0)
    return on_ranks(load_jobs.by_loaded, 0, rows, rows, 1, 2, config or {}, *options.values())


@few
@given(shape=rank_shapes())
def test_the_trainer_is_right_on_a_model_that_was_loaded_in_parts(shape):
    rows = live_rows(shape.lengths, shape.seed)
    run = (shape.seed, rows, labels_of(rows, shape.labelled), shape.micro_batch, shape.accumulation, {})
    report = Report(merge([record for record, _ in on_ranks(load_jobs.by_loaded, *run)]))

    report.assert_token_mean()
    for window, verdict in zip(report.windows, report.verdicts):
        assert_closed(window, verdict)


def test_watching_a_model_that_was_loaded_in_parts_changes_nothing():
    alone, measured = (two_windows(is_watched=watched) for watched in (False, True))

    assert [left for _, left in alone] == [left for _, left in measured]


def test_in_bfloat16_weights_cannot_be_read_and_the_rest_is_right():
    report = Report(merge([record for record, _ in two_windows({"fsdp_mixed_precision": True})]))

    for window, verdict in zip(report.windows, report.verdicts):
        assert ["unreadable"] == [code_of(fault) for fault in verdict.faults]
        assert window.after.step is not None
        assert window.after.reach.arrived.all()


def test_groups_that_hold_all_parts_each_are_refused_before_a_step():
    with pytest.raises(RuntimeError, match=r"(?s)in refuse_unknown.*a parameter is laid out as \[Replicate\(\), Shard"):
        two_windows({"fsdp_size": 1, "dp_replicate_size": 2})


def test_offloading_is_refused_by_torch_itself_where_there_is_no_accelerator():
    with pytest.raises(RuntimeError, match="pin_memory"):
        two_windows({"fsdp_cpu_offload": True})


def test_fsdp_of_the_trainers_arguments_is_left_out_on_cpus_and_measured_as_what_runs():
    rows = live_rows(LENGTHS, 0)
    answers = on_ranks(load_jobs.asked_for_fsdp, rows)
    report = Report(merge([record for record, _, _ in answers]))

    assert [(False, True)] * 2 == [tuple(how) for _, *how in answers]
    report.assert_token_mean()


@pytest.mark.parametrize("version", [1, 2])
def test_a_plugin_of_fsdp_is_left_out_by_accelerate_on_cpus(version):
    assert [(True, {"Parameter"})] * 2 == on_ranks(load_jobs.prepared_for_fsdp, version)

"""R11, R12 and R13 where each rank holds a part of every parameter, as under FSDP."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given

from instrument.codes import code_of
from instrument.ranks import merge
from instrument.report.report import Report
from tests.properties.loops import labels_of, live_rows
from tests.properties.parted import assert_closed
from tests.properties.strategies import few, rank_shapes
from tests.ranks import shard_jobs
from tests.ranks.pool import on_ranks

pytestmark = pytest.mark.spawn
LENGTHS = [4, 7, 5, 3, 6, 8, 4, 5]
WRAPPERS = [
    "fsdp1",
    "fsdp1 of blocks",
    "fsdp1, gradients only",
    "fsdp1, embedding by itself",
    "fsdp2",
    "fsdp2 offloaded",
]


def two_windows(wrapper, **options):
    """What each rank hands over of two windows of two micro-batches of a row."""
    rows = live_rows(LENGTHS, 0)
    return on_ranks(partial(shard_jobs.by_shards, **options), wrapper, 0, rows, rows, 1, 2)


def report_of(answers):
    return Report(merge([record for record, _ in answers]))


@pytest.mark.parametrize("wrapper", ["fsdp1", "fsdp2"])
@few
@given(shape=rank_shapes())
def test_the_step_consumes_the_mean_of_what_all_ranks_contributed(wrapper, shape):
    rows = live_rows(shape.lengths, shape.seed)
    run = (wrapper, shape.seed, rows, labels_of(rows, shape.labelled), shape.micro_batch, shape.accumulation)
    report = report_of(on_ranks(shard_jobs.by_shards, *run))

    for window, verdict in zip(report.windows, report.verdicts):
        assert_closed(window, verdict)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_three_ranks_hold_parts_that_are_not_equally_large(wrapper):
    rows = live_rows([4, 7, 5, 3, 6, 8], 0)
    report = report_of(on_ranks(shard_jobs.by_shards, wrapper, 0, rows, rows, 1, 2, ranks=3))

    assert report.ok
    assert 3 == len(report.windows[0].after.ranks)
    assert 3 == len(report.windows[0].after.sums)
    assert report.windows[0].after.reach.arrived.all()


@pytest.mark.parametrize("kind", ["AdamW", "SGD"])
@pytest.mark.parametrize("held_back", [True, False], ids=["reduced once", "reduced each time"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_right_run_is_right_however_it_is_sharded(wrapper, held_back, kind):
    report = report_of(two_windows(wrapper, kind=kind, held_back=held_back))

    assert report.ok
    assert [1.0, 1.0] == [pytest.approx(np.nanmedian(w.after.step.moved), rel=1e-3) for w in report.windows]
    assert all(len(window.after.sums) == 3 for window in report.windows)


PLACES = {
    "LoRA": {"last matrix"},
    "tied": {"last norm", "tied embedding"},
    "checkpointing": {"last norm", "head", "embedding rows"},
}


# FSDP1 itself cannot run a tied embedding that is wrapped alone, and an adapter keeps the model's own by another path.
PAIRS = [
    (change, wrapper)
    for change in ("", *PLACES)
    for wrapper in WRAPPERS
    if not (wrapper == "fsdp1, embedding by itself" and change in ("LoRA", "tied"))
]


@pytest.mark.parametrize(("change", "wrapper"), [pair for pair in PAIRS if pair[0]])
def test_adapters_ties_and_checkpointing_are_right_under_shards(wrapper, change):
    report = report_of(two_windows(wrapper, change=change))

    assert report.ok
    assert all(window.after.reach.arrived.all() for window in report.windows)
    assert PLACES[change] == {found.place for found in report.windows[0].after.sums}


WRONG = {
    "missing": ("step", "not-in-optimizer"),
    "partial clip": ("clip", "clipped-partly"),
    "scaled": ("clip", "clipped-wrongly"),
    "own norm": ("clip", "clipped-wrongly"),
    "emptied": ("backward", "gradient-lost"),
    "other rate": ("step", "ranks-drift"),
}


@pytest.mark.parametrize("kind", ["AdamW", "SGD"])
@pytest.mark.parametrize("wrapper", ["fsdp1", "fsdp2"])
@pytest.mark.parametrize("wrong", WRONG)
def test_the_first_stage_that_goes_wrong_is_named(wrapper, wrong, kind):
    first = report_of(two_windows(wrapper, wrong=wrong, kind=kind)).verdicts[0]

    stage, code = WRONG[wrong]
    assert code in [code_of(fault) for fault in first.faults], first.faults
    assert stage == first.stage


@pytest.mark.parametrize("wrapper", ["fsdp1", "fsdp2"])
def test_a_clip_by_the_norm_of_each_part_is_told_where_no_norm_is_known(wrapper):
    first = report_of(two_windows(wrapper, wrong="own norm", max_norm=None)).verdicts[0]

    assert ["clipped-wrongly"] == [code_of(fault) for fault in first.faults]
    assert "ranks multiplied their parts of the gradient by other factors" in first.faults[0]


def test_parts_that_are_added_up_and_not_averaged_are_told():
    # Without a mean fully_shard needs a reduction that gloo does not have.
    first = report_of(two_windows("fsdp1", wrong="summed")).verdicts[0]

    assert "all-reduce" == first.stage
    assert {"ranks-summed"} == {code_of(fault) for fault in first.faults}


@pytest.mark.parametrize("wrapper", ["fsdp1", "fsdp2"])
def test_a_parameter_that_no_gradient_reaches_is_named(wrapper):
    first = report_of(two_windows(wrapper, wrong="not reached", held_back=False)).verdicts[0]

    assert any("of 21 trainable parameters reached: no gradient came to" in fault for fault in first.faults), first


@pytest.mark.parametrize(("change", "wrapper"), PAIRS)
def test_watching_the_optimizer_of_shards_changes_nothing(wrapper, change):
    alone, measured = (two_windows(wrapper, change=change, is_watched=watched) for watched in (False, True))

    assert [left for _, left in alone] == [left for _, left in measured]


@pytest.mark.parametrize("wrapper", ["fsdp1 in bfloat16", "fsdp2 in bfloat16"])
@pytest.mark.parametrize("wrong", ["", "scaled", "missing"])
def test_in_bfloat16_weights_cannot_be_read_and_clip_and_step_are_judged(wrapper, wrong):
    report = report_of(two_windows(wrapper, wrong=wrong))

    expected = {"unreadable"} | ({WRONG[wrong][1]} if wrong else set())
    for window, verdict in zip(report.windows, report.verdicts):
        assert expected == {code_of(fault) for fault in verdict.faults}
        assert window.after.reach.arrived.all()


def test_a_norm_that_is_sharded_by_itself_is_left_out_by_name():
    report = report_of(two_windows("fsdp2, norm by itself"))

    assert report.ok
    assert ["head", "embedding rows"] == [found.place for found in report.windows[0].after.sums]
    assert any("sharded by itself" in remark for remark in report.verdicts[0].remarks)


@pytest.mark.parametrize(
    ("wrapper", "wrong", "told"),
    [
        # At once, and where the wrapper stands outside of what is watched, when it has run.
        ("fsdp2 by columns", "", r"(?s)in refuse_unknown.*Error: a parameter is laid out as .*Shard\(dim=1\)"),
        ("fsdp2 hybrid", "", r"(?s)in refuse_unknown.*Error: a parameter is laid out as \[Replicate\(\), Shard"),
        ("fsdp1 hybrid", "", r"NotImplementedError: a parameter is laid out as (\d+) of \1 elements on each of 2"),
        ("fsdp1", "wrapped inside", "NotImplementedError: LlamaForCausalLM was sharded after it was watched"),
        ("fsdp2", "wrapped inside", r"NotImplementedError: \w*LlamaForCausalLM was sharded after it was watched"),
    ],
)
def test_what_cannot_be_put_together_is_refused_by_name(wrapper, wrong, told):
    with pytest.raises(RuntimeError, match=told):
        two_windows(wrapper, wrong=wrong)


def test_saved_ranks_give_the_same_report(tmp_path):
    records = [record for record, _ in two_windows("fsdp1")]
    for record in records:
        Report(record).save(tmp_path)

    assert Report.load(tmp_path).to_json() == Report(merge(records)).to_json()

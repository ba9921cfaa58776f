"""R11 and R13 on two ranks: what is consumed is the mean of what all ranks contributed, and all of them step alike."""

import numpy as np
import pytest
from hypothesis import given

from instrument.ranks import merge
from instrument.report.report import Report
from tests.properties.loops import labels_of, live_rows
from tests.properties.strategies import few, rank_shapes
from tests.ranks import step_jobs
from tests.ranks.pool import on_ranks

WHOLE = {"last norm", "head", "embedding rows"}
LOOPS = {
    "by hand": (step_jobs.by_ddp, WHOLE),
    "trainer": (step_jobs.by_trainer, WHOLE),
    "trainer, LoRA": (step_jobs.by_trainer_of_adapters, {"last matrix"}),
}
LENGTHS = [4, 7, 5, 3, 6, 8, 4, 5]


def on_two(job, shape, *more):
    rows = live_rows(shape.lengths, shape.seed)
    return on_ranks(
        job, shape.seed, rows, labels_of(rows, shape.labelled), shape.micro_batch, shape.accumulation, *more
    )


def two_windows(wrong, kind="AdamW"):
    """The report of two windows of two micro-batches of a row on each rank."""
    rows = live_rows(LENGTHS, 0)
    return Report(merge(on_ranks(step_jobs.by_ddp, 0, rows, rows, 1, 2, wrong, kind)))


@pytest.mark.parametrize("loop", LOOPS)
@few
@given(shape=rank_shapes())
def test_the_step_consumes_the_mean_of_what_all_ranks_contributed(loop, shape):
    job, places = LOOPS[loop]
    report = Report(merge(on_two(job, shape)))

    for window, verdict in zip(report.windows, report.verdicts):
        assert () == verdict.faults
        assert places == {found.place for found in window.after.sums}
        np.testing.assert_allclose([found.scale for found in window.after.sums], 1, rtol=1e-4)
        shares = window.after.sums[0].shares
        assert not shares or len(shares) == 1 + window.after.reach.arrived.shape[1]
        np.testing.assert_allclose(shares, [0, *[1] * len(shares[1:])][: len(shares)], rtol=1e-3)
        assert window.after.reach.arrived.all()


@few
@given(shape=rank_shapes())
def test_saved_ranks_give_the_same_report_of_what_follows_backward(tmp_path_factory, shape):
    folder, records = tmp_path_factory.mktemp("saved"), on_two(step_jobs.by_ddp, shape)
    for record in records:
        Report(record).save(folder)

    assert Report.load(folder).to_json() == Report(merge(records)).to_json()
    assert str(Report.load(folder)) == str(Report(merge(records)))


WRONG = {
    "left out of the all-reduce": ("all-reduce", "the 2 ranks hold different gradients of lm_head.weight, 1 of 21"),
    "never averaged": ("all-reduce", "the 2 ranks hold different gradients of model.embed_tokens.weight"),
    "summed": ("all-reduce", "it is the sum over the ranks instead of their mean"),
    "not reached": ("backward", "on rank 1: weights right, 20 of 21 trainable parameters reached: no gradient came to "
                    "model.layers.0.mlp.down_proj.weight, though the module ran"),
    "not clipped on rank 1": ("clip", "on rank 1: clipping to 1 should multiply the gradient"),
    "emptied on rank 1": ("backward", "is not the sum of what the tokens contributed"),
    "other rate": ("step", "differ between the ranks, 21 of 21"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kind", ["AdamW", "SGD"])
def test_the_first_stage_that_goes_wrong_is_named(wrong, kind):
    first = two_windows(wrong, kind).verdicts[0]

    stage, told = WRONG[wrong]
    assert any(told in fault for fault in first.faults), first.faults
    assert stage == first.stage

"""R12 on two ranks: training with the instrument attached is bitwise the training without it, on each of them."""

import pytest
from hypothesis import given

from tests.properties.loops import labels_of, live_rows
from tests.properties.strategies import few, rank_shapes
from tests.ranks.jobs import trained
from tests.ranks.pool import on_ranks
from tests.ranks.step_jobs import left_behind

OPTIONS = {"trainer": {"optim": "adamw_torch", "learning_rate": 1e-2}, "accelerate": {}, "ddp": {"lr": 1e-2}}


@pytest.mark.parametrize("loop", OPTIONS)
@few
@given(shape=rank_shapes())
def test_watching_changes_nothing_on_any_rank(loop, shape):
    rows = live_rows(shape.lengths, shape.seed)
    options = {"micro_batch": shape.micro_batch, "accumulation": shape.accumulation, **OPTIONS[loop]}

    alone, measured = (
        on_ranks(trained, loop, shape.seed, rows, labels_of(rows, shape.labelled), options, is_watched)
        for is_watched in (False, True)
    )

    assert alone == measured


@pytest.mark.parametrize("wrapper", ["fsdp1", "fsdp2"])
def test_watching_changes_nothing_under_shards(wrapper):
    rows = live_rows([4, 7, 5, 3], 0)

    alone, measured = (on_ranks(trained, wrapper, 0, rows, rows, {}, is_watched) for is_watched in (False, True))

    assert alone == measured
    assert len(alone[0]["moments"]) > 0


@few
@given(shape=rank_shapes())
def test_watching_the_optimizer_changes_nothing_on_any_rank(shape):
    rows = live_rows(shape.lengths, shape.seed)
    run = (left_behind, shape.seed, rows, labels_of(rows, shape.labelled), 1, 1)

    alone, measured = (on_ranks(*run, is_watched) for is_watched in (False, True))

    assert alone == measured

"""R7 on two ranks: TRL's SFTTrainer, in each way to make batches, is a token mean over all ranks."""

import pytest
from hypothesis import given, settings

from closed_forms.aggregation import per_rank_mean
from tests.properties.loops import live_rows
from tests.properties.strategies import rank_shapes
from tests.properties.test_ranks import expected_over_ranks
from tests.ranks.pool import measured
from tests.ranks.trl_jobs import supervised

# An example is a data set that TRL prepares on each rank, half a second.
fewest = settings(max_examples=max(2, settings.default.max_examples // 10))
WAYS = {
    "padded": {},
    "packed": {"packing": True, "max_length": 16},
    "padding-free": {"padding_free": True, "max_length": None},
}


def on_two(shape, **options):
    rows = live_rows(shape.lengths, shape.seed)
    split = {"micro_batch": shape.micro_batch, "gradient_accumulation_steps": shape.accumulation, **options}
    return rows, measured(supervised, shape.seed, rows, split)


@pytest.mark.parametrize("way", WAYS)
@fewest
@given(shape=rank_shapes(max_length=5))
def test_every_target_weighs_one_over_the_targets_of_all_ranks(way, shape):
    _, report = on_two(shape, **WAYS[way])

    report.assert_token_mean()


@pytest.mark.parametrize("way", ["padded", "padding-free"])
@fewest
@given(shape=rank_shapes(max_length=5))
def test_each_sample_runs_once(way, shape):
    rows, report = on_two(shape, **WAYS[way])

    report.assert_each_sample_once(rows)


@fewest
@given(shape=rank_shapes(max_length=5))
def test_without_averaging_tokens_every_rank_takes_its_own_mean(shape):
    _, report = on_two(shape, average_tokens_across_devices=False)

    report.assert_weights(expected_over_ranks(report, per_rank_mean))

"""Under shards the weights need no collective, and what cannot be read is refused by name."""

import pytest

from tests.properties.loops import live_rows
from tests.ranks.jobs import sharded
from tests.ranks.pool import measured

pytestmark = pytest.mark.spawn
ROWS = live_rows([4, 7, 12, 3], 0)
before_or_inside = pytest.mark.parametrize("before", [True, False], ids=["wrapped before", "wrapped inside"])


@before_or_inside
@pytest.mark.parametrize("wrapper", ["ddp", "fsdp1", "fsdp2"])
@pytest.mark.parametrize("micro_batch", [1, 2])
def test_every_wrapper_gives_the_weights_of_all_ranks(wrapper, before, micro_batch):
    report = measured(sharded, wrapper, 0, ROWS, ROWS, before, micro_batch, False)

    report.assert_token_mean()
    assert report.ok
    assert len(report.rows) == len(ROWS)


@pytest.mark.parametrize("wrapper", ["ddp", "fsdp1", "fsdp2"])
def test_means_per_rank_are_named_under_every_wrapper(wrapper):
    report = measured(sharded, wrapper, 0, ROWS, ROWS, True, 1, True)

    assert [verdict.name for verdict in report.verdicts] == ["mean of per-rank means, R = 2"]


@before_or_inside
def test_parameters_that_are_made_one_are_refused(before):
    with pytest.raises(RuntimeError, match=r"NotImplementedError: LlamaForCausalLM .*use_orig_params=False"):
        measured(sharded, "fsdp1 without original parameters", 0, ROWS, ROWS, before, 1, False)


@before_or_inside
def test_a_head_that_is_sharded_by_itself_is_refused(before):
    with pytest.raises(
        RuntimeError, match=r"NotImplementedError: the head of \w*LlamaForCausalLM is sharded by itself"
    ):
        measured(sharded, "fsdp2 with head", 0, ROWS, ROWS, before, 1, False)

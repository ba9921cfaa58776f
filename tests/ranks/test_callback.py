"""WeighbridgeCallback on two real ranks: each judges what all of them measured, and none is left waiting."""

from functools import partial

import pytest

from faults import CATALOGUE, planted
from tests.properties.loops import live_rows
from tests.ranks.callback_jobs import told
from tests.ranks.pool import on_ranks

pytestmark = pytest.mark.spawn
LENGTHS = [4, 7, 5, 3, 6, 8, 4, 5]


def on_two(**options):
    rows = live_rows(LENGTHS, 0)
    return on_ranks(partial(told, **options), rows, rows, 1, 2)


def test_every_rank_tells_the_window_of_all():
    (first, logged, _), (second, _, _) = on_two()

    assert [0, 1] == list(first)
    assert first == second
    assert all(line.startswith("OK: every target weighs the same: token mean") for line, _ in first.values())
    assert all(any("clip" in stage for stage in stages) for _, stages in first.values())
    assert [sum(n - 1 for n in LENGTHS[:4]), sum(n - 1 for n in LENGTHS[4:])] == logged


def test_a_fault_ends_the_training_on_every_rank():
    first, second = on_two(on_fault="raise", average_tokens_across_devices=False)

    assert "FAULT [mean-of-rank-means]" in first[2]
    assert first[2] == second[2]


def test_a_planted_fault_is_named_on_every_rank():
    with planted(CATALOGUE["own_count_on_each_rank"]):
        answers = on_two()

    assert all(said[0][0].startswith("FAULT [") for said, _, _ in answers)


def test_a_rank_that_cannot_be_measured_leaves_no_verdict_and_no_rank_waiting():
    (first, logged, error), (second, _, _) = on_two(compiled=1)

    assert first == second
    assert all("rank 1 of 2: LlamaForCausalLM is compiled already" in line for line, _ in first.values())
    assert ([], "") == (logged, error)

"""R7 on two ranks: DPOTrainer and GRPOTrainer weigh what one process with the micro-batches of both would."""

from dataclasses import replace

import pytest

from instrument.loops.groups import Group
from instrument.objective_pairs import PairOptions, of_dpo
from instrument.objective_policy import Options, of_grpo
from instrument.objective_record import Driven
from tests.properties.objectives import assert_follows
from tests.ranks.objective_jobs import preferred, rewarded
from tests.ranks.pool import on_ranks

pytestmark = pytest.mark.spawn
PAIRS = [
    ((4, 5), (6, 7, 8), (9, 10)),
    ((11, 12), (13,), (14, 15)),
    ((16,), (17, 18), (19, 20, 21)),
    ((22,), (24,), (25, 3)),
]


def together(first, second):
    """One run of all micro-batches of both ranks."""
    windows = [[*a, *b] for a, b in zip(first.windows, second.windows, strict=True)]
    generations = [[*a, *b] for a, b in zip(first.generations, second.generations, strict=True)]
    return Driven(replace(first.record, rank=-1, ranks=1), windows, generations)


@pytest.mark.parametrize("steps", [1, 2])
def test_every_token_of_dpo_weighs_its_closed_form_on_two_ranks(steps):
    options = {"micro_batch": 1, "gradient_accumulation_steps": steps, "beta": 0.5}
    driven = together(*on_ranks(preferred, PAIRS, 0, options))

    assert [2 * steps] * (2 // steps) == [len(window) for window in driven.windows]
    assert_follows(driven.windows, of_dpo(driven, {"sigmoid": 1.0}, PairOptions(0.5)))


def test_every_token_of_grpo_weighs_its_closed_form_on_two_ranks():
    groups = [Group(p, ((*c, 2), (*r, 2)), [[0.5], [-0.25]]) for p, c, r in PAIRS]
    options = {"micro_batch": 2, "steps_per_generation": 1, "beta": 0.1, "loss_type": "grpo"}
    driven = together(*on_ranks(rewarded, groups, 0, options))

    assert [2, 2] == [len(window) for window in driven.windows]
    rewards = [reward for group in groups for reward in group.rewards]
    assert_follows(driven.windows, of_grpo(driven, rewards, 2, Options(loss_type="grpo", beta=0.1)))

"""R7 on two ranks: DPOTrainer and GRPOTrainer weigh what one process with the micro-batches of both would."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instrument.loops.groups import Group
from instrument.objective_pairs import PairOptions, of_dpo
from instrument.objective_policy import Options, of_grpo
from instrument.objective_record import Driven
from tests.properties.objectives import assert_follows
from tests.properties.strategies import Ids, betas, lengths, seeds
from tests.ranks.objective_jobs import preferred, rewarded
from tests.ranks.pool import on_ranks

pytestmark = pytest.mark.spawn
# An example is a trainer of TRL on each rank, half a second.
fewest = settings(max_examples=max(6, settings.default.max_examples // 8))
PAIR_LOSSES = ["sigmoid", "hinge", "ipo", "sppo_hard", "apo_zero", "nca_pair"]
# Each rank divides by its own of these.
POLICY_LOSSES = ["grpo", "bnpo", "dr_grpo"]
# These by the tokens of all ranks' generations, a rank's share of them.
GENERATION_LOSSES = ["dapo", "cispo", "vespo"]


@st.composite
def shared(draw, completions):
    """Prompts with completions that fill the micro-batches of both ranks, and how they are split."""
    micro_batch, steps = draw(st.sampled_from([(1, 1), (1, 2), (2, 1)]))
    rows = 2 * micro_batch * steps * draw(st.integers(1, 2))
    ids = Ids(draw(seeds))
    shapes = draw(st.lists(st.tuples(st.just(1), *[lengths] * completions), min_size=rows, max_size=rows))
    return [tuple(ids.take(n) for n in shape) for shape in shapes], micro_batch, steps


def together(first, second):
    """One run of all micro-batches of both ranks."""
    windows = [[*a, *b] for a, b in zip(first.windows, second.windows, strict=True)]
    generations = [[*a, *b] for a, b in zip(first.generations, second.generations, strict=True)]
    return Driven(replace(first.record, rank=-1, ranks=1), windows, generations)


@fewest
@given(loss_type=st.sampled_from(PAIR_LOSSES), drawn=shared(2), beta=betas, seed=seeds)
def test_every_token_of_dpo_weighs_its_closed_form_on_two_ranks(loss_type, drawn, beta, seed):
    pairs, micro_batch, steps = drawn
    options = {"micro_batch": micro_batch, "gradient_accumulation_steps": steps, "beta": beta, "loss_type": [loss_type]}
    driven = together(*on_ranks(preferred, pairs, seed, options))

    assert {2 * steps} == {len(window) for window in driven.windows}
    assert_follows(driven.windows, of_dpo(driven, {loss_type: 1.0}, PairOptions(beta)))


@fewest
@given(
    loss_type=st.sampled_from(POLICY_LOSSES),
    drawn=shared(2),
    beta=st.sampled_from([0.0, 0.1]),
    rewards=st.integers(-64, 64),
    seed=seeds,
)
def test_every_token_of_grpo_weighs_its_closed_form_on_two_ranks(loss_type, drawn, beta, rewards, seed):
    prompts, _, _ = drawn
    scores = [[[(rewards + 7 * n) / 64], [-0.25]] for n in range(len(prompts))]
    groups = [Group(p, ((*c, 2), (*r, 2)), score) for (p, c, r), score in zip(prompts, scores)]
    options = {"micro_batch": 2, "steps_per_generation": 1, "beta": beta, "loss_type": loss_type}
    driven = together(*on_ranks(rewarded, groups, seed, {**options, "max_completion_length": 16}))

    assert {2} == {len(window) for window in driven.windows}
    told = Options(loss_type=loss_type, beta=beta, max_completion_length=16)
    assert_follows(driven.windows, of_grpo(driven, [reward for group in groups for reward in group.rewards], 2, told))


@st.composite
def generated(draw):
    """Groups of two for some generations of both ranks, and the micro-batches of a generation and of a window."""
    steps, accumulation = draw(st.sampled_from([(1, 1), (2, 2), (2, 1), (1, 2)]))
    ids = Ids(draw(seeds))
    # A window of several generations needs as many.
    count = 2 * steps * max(1, accumulation // steps) * draw(st.integers(1, 2))
    groups = []
    for _ in range(count):
        shapes = draw(st.tuples(lengths, lengths))
        rewards = draw(st.lists(st.integers(-64, 64), min_size=2, max_size=2))
        groups.append(Group(ids.take(1), tuple((*ids.take(n), 2) for n in shapes), [[r / 64] for r in rewards]))
    return groups, steps, accumulation


@pytest.mark.parametrize("loss_type", GENERATION_LOSSES)
@fewest
@given(drawn=generated(), beta=st.sampled_from([0.0, 0.1]), seed=seeds)
def test_a_token_is_divided_by_the_tokens_of_the_generations_of_all_ranks(loss_type, drawn, beta, seed):
    groups, steps, accumulation = drawn
    options = {"loss_type": loss_type, "beta": beta, "max_completion_length": 16, "scale_rewards": "none"}
    split = {"micro_batch": 2, "steps_per_generation": steps, "gradient_accumulation_steps": accumulation}
    driven = together(*on_ranks(rewarded, groups, seed, {**options, **split}))

    assert {2 * accumulation} == {len(window) for window in driven.windows}
    # A generation of all ranks has the micro-batches of all of them.
    told = Options(**options, steps_per_generation=2 * steps)
    assert_follows(driven.windows, of_grpo(driven, [r for group in groups for r in group.rewards], 2, told))


@st.composite
def spread(draw):
    """Groups of two, some on both ranks, and how they are split; the rewards of a group differ."""
    micro_batch, steps = draw(st.sampled_from([(1, 1), (3, 1), (1, 3)]))
    ids, groups = Ids(draw(seeds)), []
    for _ in range(micro_batch * steps * draw(st.integers(1, 2))):
        completions = tuple((*ids.take(n), 2) for n in draw(st.tuples(lengths, lengths)))
        rewards = draw(st.tuples(st.integers(-64, 0), st.integers(1, 64)))
        groups.append(Group(ids.take(1), completions, [[r / 64] for r in rewards]))
    return groups, micro_batch, steps


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
@fewest
@given(drawn=spread(), scale=st.sampled_from(["group", "batch", "none"]), seed=seeds)
def test_a_group_that_lies_on_both_ranks_has_one_baseline(loss_type, drawn, scale, seed):
    groups, micro_batch, steps = drawn
    options = {"loss_type": loss_type, "beta": 0.0, "scale_rewards": scale}
    split = {"micro_batch": micro_batch, "steps_per_generation": steps, "gradient_accumulation_steps": steps}
    driven = together(*on_ranks(rewarded, groups, seed, {**options, **split}))

    told = Options(**options, steps_per_generation=2 * steps)
    assert_follows(driven.windows, of_grpo(driven, [r for group in groups for r in group.rewards], 2, told))

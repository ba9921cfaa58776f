"""R7 for what becomes of rewards before the loss: several functions put together, and a range that cuts them off."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.rloo import run_rloo
from instrument.objective_policy import Options, of_grpo, of_rloo
from instrument.tiny import near, tiny_policy
from tests.properties.objectives import RATE, assert_follows
from tests.properties.strategies import TWICE, VOCABULARY, few, rollouts, seeds

sixteenths = st.integers(-16, 16).map(lambda n: n / 16)


# Clipped is nothing, of which nothing could be told.
ONCE = (TWICE[0], {**TWICE[1], "num_iterations": 1})
# More than rollouts() has completions, for three functions.
many = st.lists(sixteenths, min_size=40, max_size=40)


def rewarded(given_groups, values, functions):
    """The groups, each completion with as many rewards."""
    left = iter(values)
    return [
        Group(prompt, ids, [list(itertools.islice(left, functions)) for _ in ids]) for prompt, ids, _ in given_groups
    ]


def all_weigh(driven, forms):
    """Whether every scored token should weigh something: of an advantage of 0 rounding is all that is left."""
    return all(
        np.all(form.weight[batch.mask] != 0)
        for window, expected in zip(driven.windows, forms)
        for batch, form in zip(window, expected)
    )


@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
@few
@given(drawn=rollouts(), functions=st.integers(2, 3), seed=seeds, values=many)
def test_several_reward_functions_are_put_together(aggregation, drawn, functions, seed, values):
    given_groups, split = drawn
    groups = rewarded(given_groups, values, functions)

    driven = run_grpo(
        tiny_policy(VOCABULARY, seed),
        groups,
        multi_objective_aggregation=aggregation,
        beta=0.0,
        learning_rate=RATE,
        **split,
    )
    closed = Options(multi_objective_aggregation=aggregation, steps_per_generation=split["steps_per_generation"])
    rewards = [reward for group in groups for reward in group.rewards]
    forms = of_grpo(driven, rewards, len(groups[0].completions), closed)
    assume(all_weigh(driven, forms))
    assert_follows(driven.windows, forms)


@pytest.mark.parametrize("beta", [0.0, 0.1])
@few
# Sums above the range, in it and below it: test_objectives_regions.py.
@example(drawn=ONCE, low=-1.0, high=1.0, seed=0, values=[0.75, 0.75, 0.5, -0.25, -1.0, -0.5, 0.0, 0.125])
@given(drawn=rollouts(), low=st.sampled_from([-1.0, -0.75]), high=st.sampled_from([0.75, 1.0]), seed=seeds, values=many)
def test_rewards_of_rloo_are_cut_off_before_the_penalty(beta, drawn, low, high, seed, values):
    given_groups, split = drawn
    groups, model = rewarded(given_groups, values, 2), tiny_policy(VOCABULARY, seed)

    driven = run_rloo(
        model,
        groups,
        reference=near(model) if beta else None,
        reward_clip_range=(low, high),
        beta=beta,
        learning_rate=RATE,
        **split,
    )
    rewards = [reward for group in groups for reward in group.rewards]
    forms = of_rloo(driven, rewards, len(groups[0].completions), beta=beta, clip=(low, high))
    assume(all_weigh(driven, forms))
    assert_follows(driven.windows, forms)

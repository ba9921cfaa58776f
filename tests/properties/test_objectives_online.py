"""R7: every token of OnlineDPOTrainer weighs what the loss says of the better and the worse of two completions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.loops.groups import Group
from instrument.loops.online_dpo import run_online_dpo
from instrument.objective_online import of_online_dpo
from instrument.tiny import near, tiny_policy
from tests.properties.objectives import RATE, assert_follows
from tests.properties.strategies import VOCABULARY, betas, few, pairs, seeds

splits = st.fixed_dictionaries({"micro_batch": st.integers(1, 3), "gradient_accumulation_steps": st.integers(1, 3)})


@pytest.mark.parametrize("loss_type", ["sigmoid", "ipo"])
@few
@given(drawn=pairs(), beta=betas, better=st.lists(st.booleans(), min_size=5, max_size=5), seed=seeds, split=splits)
def test_every_token_of_online_dpo(loss_type, drawn, beta, better, seed, split):
    groups = [
        Group(prompt, [(*ids, 2) for ids in sides], [[float(first)], [0.5]])
        for first, (prompt, *sides) in zip(better, drawn)
    ]
    model = tiny_policy(VOCABULARY, seed)

    driven = run_online_dpo(
        model, groups, reference=near(model), loss_type=loss_type, beta=beta, learning_rate=RATE, **split
    )
    rewards = [reward for group in groups for reward in group.rewards]
    assert_follows(driven.windows, of_online_dpo(driven, rewards, loss_type, beta))

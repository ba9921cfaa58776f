"""R7: every token of GRPOTrainer is corrected for another sampler as its mode says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.loops.groups import Group
from instrument.loops.sampled import run_sampled
from instrument.objective_policy import Options
from instrument.objective_sampled import of_sampled
from instrument.tiny import tiny_policy
from tests.properties.objectives import RATE, assert_follows
from tests.properties.strategies import VOCABULARY, few, rollouts, seeds


@pytest.mark.parametrize("mode", ["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"])
@few
@given(drawn=rollouts(), loss_type=st.sampled_from(["grpo", "dapo", "cispo"]), seed=seeds, data=st.data())
def test_every_token_of_another_sampler(mode, drawn, loss_type, seed, data):
    given_groups, split = drawn
    split.pop("mask_truncated_completions")
    groups = [Group(prompt, completions, [[r] for r in rewards]) for prompt, completions, rewards in given_groups]
    low = 0.8 if mode.endswith("truncate") else 0.25
    # A drift of 1 that is shared out is never masked, so that a window scores something.
    drift = [
        [data.draw(st.sampled_from([-1.0, -0.25, 0.25, 1.0])) / len(ids) for _ in ids]
        for group in groups
        for ids in group.completions
    ]

    driven = run_sampled(
        tiny_policy(VOCABULARY, seed),
        groups,
        drift,
        loss_type=loss_type,
        vllm_importance_sampling_mode=mode,
        vllm_importance_sampling_clip_min=low,
        learning_rate=RATE,
        **split,
    )
    rewards = [reward for group in groups for reward in group.rewards]
    closed = Options(loss_type, epsilon_high=0.2, steps_per_generation=split["steps_per_generation"])
    assert_follows(driven.windows, of_sampled(driven, rewards, len(groups[0].completions), closed, drift, mode, low))

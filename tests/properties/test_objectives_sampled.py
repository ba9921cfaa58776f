"""R7: every token of GRPOTrainer is corrected for another sampler as its mode says."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instrument.loops.groups import Group
from instrument.loops.sampled import run_sampled
from instrument.objective_policy import Options
from instrument.objective_sampled import of_sampled
from instrument.tiny import tiny_policy
from tests.properties.objectives import RATE, assert_follows
from tests.properties.strategies import TWICE, VOCABULARY, few, rollouts, seeds


@pytest.mark.parametrize("mode", ["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"])
@few
# One completion of each group stays between the limits, and the other does not: test_objectives_regions.py.
@example(drawn=TWICE, loss_type="grpo", seed=0, drifts=[0.25, 8.0])
@example(drawn=TWICE, loss_type="grpo", seed=0, drifts=[0.25, -8.0])
# A drift of 1 that is shared out is never masked, so that a window scores something.
@given(
    drawn=rollouts(),
    loss_type=st.sampled_from(["grpo", "dapo", "cispo"]),
    seed=seeds,
    drifts=st.lists(st.sampled_from([-1.0, -0.25, 0.25, 1.0]), min_size=1, max_size=5),
)
def test_every_token_of_another_sampler(mode, drawn, loss_type, seed, drifts):
    given_groups, split = drawn
    split = {name: size for name, size in split.items() if name != "mask_truncated_completions"}
    groups = [Group(prompt, completions, [[r] for r in rewards]) for prompt, completions, rewards in given_groups]
    low = 0.8 if mode.endswith("truncate") else 0.25
    written = [ids for group in groups for ids in group.completions]
    drift = [[drifts[n % len(drifts)] / len(ids) for _ in ids] for n, ids in enumerate(written)]

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

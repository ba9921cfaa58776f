"""R7: every completion token of GRPOTrainer and RLOOTrainer weighs what its loss type says, off-policy and clipped."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.rloo import run_rloo
from instrument.loops.scored import lora
from instrument.objective_policy import Options, of_grpo, of_rloo
from instrument.tiny import tiny_policy
from tests.properties.objectives import RATE, assert_follows, policy_and_reference
from tests.properties.strategies import TWICE, VOCABULARY, few, rollouts, seeds

LOSS_TYPES = ["grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo"]
penalties = st.sampled_from([0.0, 0.1])
limits = st.sampled_from([(0.02, 0.03), (0.2, 0.3)])
# On both sides of every limit, which few draws are: test_objectives_regions.py.
NARROW, HIGH, APART = (1e-4, 1e-4), (0.2, 1.0001), (1e-4, 5.0)
# The second step of a generation meets tokens that the first one raised, some of a completion that falls.
LATER = (TWICE[0], {**TWICE[1], "steps_per_generation": 2})
adapters = st.booleans()


def groups_of(drawn):
    return [Group(prompt, completions, [[r] for r in rewards]) for prompt, completions, rewards in drawn]


def rewards_of(drawn):
    return [[r] for _, _, rewards in drawn for r in rewards]


@pytest.mark.filterwarnings("ignore:When using `importance_sampling_level")
@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("loss_type", LOSS_TYPES)
@few
@example(drawn=TWICE, beta=0.0, epsilons=NARROW, corrected=False, scale="group", peft=False, seed=0)
@example(drawn=TWICE, beta=0.0, epsilons=HIGH, corrected=False, scale="group", peft=False, seed=0)
@example(drawn=TWICE, beta=0.0, epsilons=APART, corrected=False, scale="group", peft=False, seed=0)
@given(
    drawn=rollouts(),
    beta=penalties,
    epsilons=limits,
    corrected=st.booleans(),
    scale=st.sampled_from(["group", "batch", "none"]),
    peft=adapters,
    seed=seeds,
)
def test_every_token_of_grpo(loss_type, level, drawn, beta, epsilons, corrected, scale, peft, seed):
    given_groups, split = drawn
    model, reference = policy_and_reference(peft, seed)
    options = {
        "loss_type": loss_type,
        "importance_sampling_level": level,
        "beta": beta,
        "epsilon": epsilons[0],
        "epsilon_high": epsilons[1],
        "use_bias_correction_kl": corrected,
        "scale_rewards": scale,
        "max_completion_length": 16,
    }

    driven = run_grpo(
        model,
        groups_of(given_groups),
        reference=reference if beta else None,
        peft=lora(("q_proj", "down_proj")) if peft else None,
        learning_rate=RATE,
        **options,
        **split,
    )
    closed = Options(**options, steps_per_generation=split["steps_per_generation"])
    forms = of_grpo(driven, rewards_of(given_groups), len(given_groups[0][1]), closed)
    assert_follows(driven.windows, forms)


@pytest.mark.parametrize("loss_type", ["grpo", "bnpo", "dr_grpo", "dapo", "luspo"])
@few
@example(drawn=LATER, delta=1.005, epsilons=HIGH, seed=0)
@example(drawn=LATER, delta=1.005, epsilons=NARROW, seed=0)
@given(drawn=rollouts(), delta=st.sampled_from([1.0001, 1.05]), epsilons=limits, seed=seeds)
def test_every_token_of_grpo_with_a_bound_on_both_sides(loss_type, drawn, delta, epsilons, seed):
    given_groups, split = drawn
    options = {"loss_type": loss_type, "delta": delta, "beta": 0.0, "max_completion_length": 16}
    options |= {"epsilon": epsilons[0], "epsilon_high": epsilons[1]}

    driven = run_grpo(tiny_policy(VOCABULARY, seed), groups_of(given_groups), learning_rate=RATE, **options, **split)
    closed = Options(**options, steps_per_generation=split["steps_per_generation"])
    assert_follows(driven.windows, of_grpo(driven, rewards_of(given_groups), len(given_groups[0][1]), closed))


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
@few
@example(drawn=TWICE, threshold=1e-4, beta=0.1, seed=0)
@example(drawn=TWICE, threshold=5.0, beta=0.0, seed=0)
@given(drawn=rollouts(), threshold=st.sampled_from([1e-4, 0.05, 0.5]), beta=penalties, seed=seeds)
def test_every_token_of_grpo_without_what_fell_and_drifted(loss_type, drawn, threshold, beta, seed):
    given_groups, split = drawn
    model, reference = policy_and_reference(False, seed)
    # Nothing is clipped, so that what is dropped is dropped for its drift.
    options = {"loss_type": loss_type, "off_policy_mask_threshold": threshold, "beta": beta, "epsilon": 0.9}
    options |= {"epsilon_high": 5.0, "max_completion_length": 16}

    driven = run_grpo(
        model,
        groups_of(given_groups),
        reference=reference if beta else None,
        learning_rate=RATE,
        **options,
        **split,
    )
    closed = Options(**options, steps_per_generation=split["steps_per_generation"])
    assert_follows(driven.windows, of_grpo(driven, rewards_of(given_groups), len(given_groups[0][1]), closed))


@few
@given(drawn=rollouts(), beta=penalties, seed=seeds, data=st.data())
def test_what_a_tool_wrote_weighs_nothing(drawn, beta, seed, data):
    given_groups, split = drawn
    model, reference = policy_and_reference(False, seed)
    # The last token is the policy's own, so that a completion scores something.
    marks = [
        group._replace(written=[[data.draw(st.booleans()) for _ in ids[1:]] + [True] for ids in group.completions])
        for group in groups_of(given_groups)
    ]

    driven = run_grpo(model, marks, reference=reference if beta else None, beta=beta, learning_rate=RATE, **split)
    closed = Options(beta=beta, steps_per_generation=split["steps_per_generation"])
    assert_follows(driven.windows, of_grpo(driven, rewards_of(given_groups), len(given_groups[0][1]), closed))


@pytest.mark.parametrize("run, of", [(run_grpo, of_grpo), (run_rloo, of_rloo)], ids=["grpo", "rloo"])
@few
@given(drawn=rollouts(), seed=seeds, data=st.data())
def test_a_completion_without_a_reward_weighs_nothing(run, of, drawn, seed, data):
    given_groups, split = drawn
    lost = [data.draw(st.integers(0, len(rewards) - 1)) for _, _, rewards in given_groups]
    groups = [
        group._replace(rewards=[[None] if i == gone else r for i, r in enumerate(group.rewards)])
        for group, gone in zip(groups_of(given_groups), lost)
    ]
    rewards, size = [reward for group in groups for reward in group.rewards], len(groups[0].completions)

    driven = run(tiny_policy(VOCABULARY, seed), groups, beta=0.0, learning_rate=RATE, **split)
    closed = Options(steps_per_generation=split["steps_per_generation"])
    forms = of(driven, rewards, size, closed) if run is run_grpo else of(driven, rewards, size, beta=0.0)
    assert_follows(driven.windows, forms)


@pytest.mark.parametrize("normalize", [False, True])
@few
@example(drawn=TWICE, beta=0.0, epsilons=NARROW, peft=False, seed=0)
# A ratio of a whole completion lies far out.
@example(drawn=TWICE, beta=0.0, epsilons=(1e-4, 50.0), peft=False, seed=0)
@given(drawn=rollouts(), beta=penalties, epsilons=limits, peft=adapters, seed=seeds)
def test_every_token_of_rloo(normalize, drawn, beta, epsilons, peft, seed):
    given_groups, split = drawn
    model, reference = policy_and_reference(peft, seed)
    options = {"beta": beta, "epsilon": epsilons[0], "epsilon_high": epsilons[1]}

    driven = run_rloo(
        model,
        groups_of(given_groups),
        reference=reference if beta else None,
        peft=lora(("q_proj", "down_proj")) if peft else None,
        normalize_advantages=normalize,
        learning_rate=RATE,
        **options,
        **split,
    )
    size = len(given_groups[0][1])
    assert_follows(driven.windows, of_rloo(driven, rewards_of(given_groups), size, normalize=normalize, **options))

"""R7: every completion token of GRPOTrainer and RLOOTrainer weighs what its loss type says, off-policy and clipped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.rloo import run_rloo
from instrument.loops.scored import lora
from instrument.objective_policy import Options, of_grpo, of_rloo
from tests.properties.objectives import RATE, assert_follows, policy_and_reference
from tests.properties.strategies import few, rollouts, seeds

LOSS_TYPES = ["grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo"]
penalties = st.sampled_from([0.0, 0.1])
limits = st.sampled_from([(0.02, 0.03), (0.2, 0.3)])
adapters = st.booleans()


def groups_of(drawn):
    return [Group(prompt, completions, [[r] for r in rewards]) for prompt, completions, rewards in drawn]


def rewards_of(drawn):
    return [[r] for _, _, rewards in drawn for r in rewards]


@pytest.mark.filterwarnings("ignore:When using `importance_sampling_level")
@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("loss_type", LOSS_TYPES)
@few
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


@few
@given(drawn=rollouts(), beta=penalties, epsilons=limits, normalize=st.booleans(), peft=adapters, seed=seeds)
def test_every_token_of_rloo(drawn, beta, epsilons, normalize, peft, seed):
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

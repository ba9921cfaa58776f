"""R7 where the reference follows the policy: every token weighs its loss at the reference that its window had."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.loops.dpo import run_dpo, run_dpo_averaged
from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.kto import run_kto
from instrument.objective_moving import bias_corrected, synchronized
from instrument.objective_pairs import PairOptions, of_dpo, of_kto
from instrument.objective_policy import Options, of_grpo
from tests.properties.objectives import assert_follows, policy_and_reference
from tests.properties.strategies import answers, betas, few, pairs, rollouts, seeds

# Large steps, so that a reference which stays is far from one that follows.
RATE = 0.1
shares = st.sampled_from([0.25, 0.6, 1.0])
counts = st.integers(1, 2)


def asked(share, every):
    return {
        "moves": synchronized(share, every),
        "sync_ref_model": True,
        "ref_model_mixup_alpha": share,
        "ref_model_sync_steps": every,
    }


@few
@given(drawn=pairs(), beta=betas, share=shares, every=counts, k=counts, seed=seeds)
def test_every_pair_beside_a_synchronized_reference(drawn, beta, share, every, k, seed):
    model, reference = policy_and_reference(False, seed)
    options = {"beta": beta, "micro_batch": 1, "gradient_accumulation_steps": k, "learning_rate": RATE}

    driven = run_dpo(model, drawn, reference=reference, num_train_epochs=2, **asked(share, every), **options)
    assert_follows(driven.windows, of_dpo(driven, {"sigmoid": 1.0}, PairOptions(beta)))


@few
@given(drawn=answers(), beta=betas, share=shares, every=counts, seed=seeds)
def test_every_answer_beside_a_synchronized_reference(drawn, beta, share, every, seed):
    model, reference = policy_and_reference(False, seed)
    options = {"beta": beta, "micro_batch": 2, "learning_rate": RATE}

    driven, mixed = run_kto(model, drawn, reference=reference, num_train_epochs=2, **asked(share, every), **options)
    assert_follows(driven.windows, of_kto(driven, mixed, [good for _, _, good in drawn], beta=beta))


@few
@given(drawn=rollouts(), share=shares, every=counts, seed=seeds)
def test_every_completion_beside_a_synchronized_reference(drawn, share, every, seed):
    given_groups, split = drawn
    model, reference = policy_and_reference(False, seed)
    groups = [Group(prompt, completions, [[r] for r in rewards]) for prompt, completions, rewards in given_groups]

    driven = run_grpo(model, groups, reference=reference, beta=0.1, learning_rate=0.03, **asked(share, every), **split)
    rewards = [reward for group in groups for reward in group.rewards]
    closed = Options(beta=0.1, steps_per_generation=split["steps_per_generation"])
    assert_follows(driven.windows, of_grpo(driven, rewards, len(groups[0].completions), closed))


@pytest.mark.parametrize("after", [0, 1, 2])
@few
@given(
    drawn=pairs(),
    beta=betas,
    every=counts,
    reference_every=counts,
    reference_after=st.integers(0, 2),
    powers=st.sampled_from([(0.5, 0.2), (1.0, 0.0)]),
    seed=seeds,
)
def test_every_pair_beside_an_averaged_reference(
    after, drawn, beta, every, reference_every, reference_after, powers, seed
):
    model, reference = policy_and_reference(False, seed)
    steps = {"every": every, "after": after, "reference_every": reference_every, "reference_after": reference_after}
    names = ("update_freq", "update_after", "ref_model_update_freq", "ref_model_update_after")
    powers = dict(zip(("ema_power", "bias_power"), powers))

    driven = run_dpo_averaged(
        model,
        drawn,
        reference=reference,
        moves=bias_corrected(**steps, **powers, lag=2),
        average={**dict(zip(names, steps.values())), **powers, "lag": 2},
        beta=beta,
        micro_batch=1,
        num_train_epochs=2,
        learning_rate=RATE,
    )
    assert_follows(driven.windows, of_dpo(driven, {"sigmoid": 1.0}, PairOptions(beta)))

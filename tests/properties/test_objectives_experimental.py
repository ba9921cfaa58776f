"""R7: every token of the trainers of trl.experimental weighs what the loss says, at every optimizer step."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instrument.loops.a2po import Valued, run_a2po
from instrument.loops.groups import Group
from instrument.loops.grpo import run_gmpo
from instrument.loops.reference_free import run_cpo, run_orpo, run_tpo
from instrument.loops.sdpo import run_sdpo, run_sdpo_words
from instrument.objective_a2po import of_a2po
from instrument.objective_distilled import Support, of_completions, other_divergence, shares
from instrument.objective_free import FreeOptions, of_cpo, of_orpo, of_tpo
from instrument.objective_geometric import of_gmpo
from instrument.objective_policy import Options
from instrument.objective_sdpo import of_sdpo
from instrument.tiny import tiny_policy
from tests.properties.objectives import RATE, assert_follows, policy_and_reference
from tests.properties.strategies import PAIRS, TWICE, VOCABULARY, betas, few, lessons, pairs, rollouts, seeds

# What lies on both sides of every limit: test_objectives_regions.py.
WHOLE = {"micro_batch": 3, "gradient_accumulation_steps": 2}
splits = st.fixed_dictionaries({"micro_batch": st.integers(1, 3), "gradient_accumulation_steps": st.integers(1, 3)})


@pytest.mark.parametrize("loss_type", ["sigmoid", "simpo", "hinge", "ipo"])
@few
@example(drawn=PAIRS, beta=20.0, alpha=0.0, answers=False, seed=0, split=WHOLE)
@given(drawn=pairs(), beta=betas, alpha=st.sampled_from([0.0, 0.1]), answers=st.booleans(), seed=seeds, split=splits)
def test_every_token_of_cpo(loss_type, drawn, beta, alpha, answers, seed, split):
    options = FreeOptions(loss_type, beta, 0.25, alpha=alpha, cpo_alpha=0.5 * answers)

    driven = run_cpo(
        tiny_policy(VOCABULARY, seed),
        drawn,
        loss_type=loss_type,
        beta=beta,
        label_smoothing=0.25,
        alpha=alpha,
        cpo_alpha=options.cpo_alpha,
        learning_rate=RATE,
        **split,
    )
    assert_follows(driven.windows, of_cpo(driven, options))


@pytest.mark.parametrize("loss_type", ["sigmoid", "hinge", "ipo", "tpo-l"])
@few
@example(drawn=[(*pair, (40 + n,)) for n, pair in enumerate(PAIRS)], beta=20.0, gold=0.5, seed=0, split=WHOLE)
@given(drawn=pairs(completions=3), beta=betas, gold=st.sampled_from([0.0, 0.5]), seed=seeds, split=splits)
def test_every_token_of_tpo(loss_type, drawn, beta, gold, seed, split):
    # Where the hinge is satisfied and there is no gold completion, a window scores nothing.
    gold = gold or 0.5 * (loss_type == "hinge")
    options = {"beta": beta, "tpo_alpha": gold, "tpo_l_gamma": 0.25}

    driven = run_tpo(tiny_policy(VOCABULARY, seed), drawn, loss_type=loss_type, learning_rate=RATE, **options, **split)
    assert_follows(driven.windows, of_tpo(driven, FreeOptions(loss_type, beta, simpo_gamma=0.25), gold))


@few
@given(drawn=pairs(), beta=betas, seed=seeds, split=splits)
def test_every_token_of_orpo(drawn, beta, seed, split):
    driven = run_orpo(tiny_policy(VOCABULARY, seed), drawn, beta=beta, learning_rate=RATE, **split)
    assert_follows(driven.windows, of_orpo(driven, [len(prompt) for prompt, _, _ in drawn], beta))


@few
@example(drawn=TWICE, beta=0.0, epsilons=(1e-4, 1e-4), seed=0)
@example(drawn=TWICE, beta=0.0, epsilons=(1e-4, 5.0), seed=0)
@given(
    drawn=rollouts(), beta=st.sampled_from([0.0, 0.1]), epsilons=st.sampled_from([(0.02, 0.03), (0.4, 0.3)]), seed=seeds
)
def test_every_token_of_gmpo(drawn, beta, epsilons, seed):
    given_groups, split = drawn
    model, reference = policy_and_reference(False, seed)
    options = {"beta": beta, "epsilon": epsilons[0], "epsilon_high": epsilons[1]}
    groups = [Group(prompt, completions, [[r] for r in rewards]) for prompt, completions, rewards in given_groups]

    driven = run_gmpo(model, groups, reference=reference if beta else None, learning_rate=RATE, **options, **split)
    rewards = [reward for group in groups for reward in group.rewards]
    closed = Options(**options, steps_per_generation=split["steps_per_generation"])
    assert_follows(driven.windows, of_gmpo(driven, rewards, len(groups[0].completions), closed))


@few
@given(drawn=lessons(end=(2,)), betas=st.tuples(betas, betas), filtered=st.booleans(), seed=seeds, data=st.data())
def test_every_token_of_a2po(drawn, betas, filtered, seed, data):
    answers, split = drawn
    binary = st.sampled_from([0.0, 1.0])
    # The filter leaves the first prompt at least; no advantage is 0, with which nothing would be learned.
    values = [[float(i == 0), data.draw(binary), 0.0] for i, _ in enumerate(answers)]
    rewards = [data.draw(binary) if any(of) else 1.0 for of in values]
    samples = ((1, 1, 2), (1, 2), (2,))
    prompts = [Valued(*answer, reward, samples, of) for answer, reward, of in zip(answers, rewards, values)]

    driven = run_a2po(
        tiny_policy(VOCABULARY, seed),
        prompts,
        beta1=betas[0],
        beta2=betas[1],
        filter_all_incorrect=filtered,
        learning_rate=RATE,
        **split,
    )
    assert_follows(driven.windows, of_a2po(driven, rewards, values, *betas))
    ran = {n for window in driven.windows for batch in window for n in batch.numbers}
    assert ran == {n for n, of in enumerate(values) if any(of) or not filtered}


def succeeding(given_groups):
    """All completions end, and the first two of each group succeed, so that every micro-batch teaches something; the
    second by more, so that the policy has something to learn in a group of two as well."""
    return [
        Group(
            prompt,
            [(*ids, 2) if ids[-1] != 2 else ids for ids in completions],
            [[(1 + i / 2) * (i < 2)] for i in range(len(r))],
        )
        for prompt, completions, r in given_groups
    ]


@pytest.mark.parametrize(("weight", "loss_type"), [(1.0, "grpo"), (0.25, "grpo"), (0.25, "bnpo"), (0.25, "dapo")])
@few
@example(drawn=TWICE, scale="group", kind="base", cap=1.0, seed=0)
@given(
    drawn=rollouts(),
    scale=st.sampled_from(["group", "none"]),
    kind=st.sampled_from(["base", "live", "ema"]),
    cap=st.sampled_from([1.001, 2.0]),
    seed=seeds,
)
def test_every_token_of_sdpo(weight, drawn, loss_type, scale, kind, cap, seed):
    given_groups, split = drawn
    groups = succeeding(given_groups)
    options = {"loss_type": loss_type, "scale_rewards": scale, "epsilon": 0.03, "epsilon_high": 0.5}

    driven, taught = run_sdpo(
        tiny_policy(VOCABULARY, seed),
        groups,
        distillation_weight=weight,
        distillation_is_clip=cap,
        teacher_model_kind=kind,
        learning_rate=RATE,
        **options,
        **{name: size for name, size in split.items() if name != "mask_truncated_completions"},
    )
    rewards = [reward for group in groups for reward in group.rewards]
    closed = Options(**options, steps_per_generation=split["steps_per_generation"])
    size = len(groups[0].completions)
    assert_follows(driven.windows, of_sdpo(driven, rewards, size, closed, taught, weight, cap))
    assert all(taught)


@pytest.mark.parametrize("support", [Support(), Support(3), Support(3, True)], ids=["all", "few", "tail"])
@few
@example(drawn=TWICE, alpha=0.25, kind="base", cap=1.0, seed=2)
@given(
    drawn=rollouts(),
    alpha=st.sampled_from([0.0, 0.25, 1.0]),
    kind=st.sampled_from(["base", "live", "ema"]),
    cap=st.sampled_from([1.001, 2.0]),
    seed=seeds,
)
def test_every_token_of_sdpo_over_words(support, drawn, alpha, kind, cap, seed):
    given_groups, split = drawn

    windows, taught, _ = run_sdpo_words(
        tiny_policy(VOCABULARY, seed),
        succeeding(given_groups),
        distillation_weight=1.0,
        distillation_alpha=alpha,
        distillation_is_clip=cap,
        teacher_model_kind=kind,
        learning_rate=RATE,
        **support.asked(),
        **{name: size for name, size in split.items() if name != "mask_truncated_completions"},
    )
    measured = shares(windows, alpha, 1.0, support)
    assert_follows(measured, of_completions(measured, VOCABULARY, cap=cap, taught=taught))
    assert other_divergence(windows, alpha, 1.0, VOCABULARY, support) == ""
    assert all(taught)

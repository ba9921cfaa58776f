"""R7: every token of KTOTrainer, and every reward of RewardTrainer, weighs what the loss says."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instrument.loops.kto import run_kto
from instrument.loops.reward import run_reward
from instrument.loops.scored import lora
from instrument.objective_pairs import of_kto
from instrument.objective_rewards import of_rewards
from instrument.tiny import tiny_reward
from tests.properties.objectives import RATE, assert_follows, policy_and_reference
from tests.properties.strategies import PAIRS, VOCABULARY, answers, betas, few, pairs, seeds

accumulations = st.integers(1, 3)
# Windows on both sides of the baseline's limit: test_objectives_regions.py.
JUDGED = [(prompt, chosen, n % 2 == 0) for n, (prompt, chosen, _) in enumerate(PAIRS)]


@pytest.mark.parametrize("loss_type", ["kto", "apo_zero_unpaired"])
@few
@example(drawn=JUDGED, beta=1.0, micro_batch=2, k=1, peft=False, seed=0)
@given(drawn=answers(), beta=betas, micro_batch=st.integers(2, 3), k=accumulations, peft=st.booleans(), seed=seeds)
def test_every_token_of_kto(loss_type, drawn, beta, micro_batch, k, peft, seed):
    model, reference = policy_and_reference(peft, seed)

    driven, mixed = run_kto(
        model,
        drawn,
        reference=reference,
        peft=lora(("q_proj", "down_proj")) if peft else None,
        micro_batch=micro_batch,
        gradient_accumulation_steps=k,
        loss_type=loss_type,
        beta=beta,
        desirable_weight=2.0,
        undesirable_weight=1.5,
        learning_rate=RATE,
    )
    marks = [good for _, _, good in drawn]
    assert_follows(driven.windows, of_kto(driven, mixed, marks, loss_type=loss_type, beta=beta, gain=2.0, loss=1.5))


@few
@given(drawn=pairs(), margin=st.booleans(), centre=st.sampled_from([0.0, 0.25]), k=accumulations, seed=seeds)
def test_every_reward_enters_at_its_last_token(drawn, margin, centre, k, seed):
    given_pairs = [((*p, *c), (*p, *r)) for p, c, r in drawn]
    margins = [len(c) - len(r) / 2 for c, r in given_pairs] if margin else None

    windows, _ = run_reward(
        tiny_reward(VOCABULARY, seed),
        given_pairs,
        margins=margins,
        micro_batch=2,
        gradient_accumulation_steps=k,
        center_rewards_coefficient=centre or None,
        learning_rate=RATE,
    )
    assert_follows(windows, of_rewards(windows, margins, centre))

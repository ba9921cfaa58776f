"""R10: TRL's default bfloat16 gives every token, and every completion on average, its weight within float32's rounding.

A normaliser that is 1 % off lies outside of both. The mean of T errors of at most e_t is at most the mean of the e_t.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults._plant import swapped
from instrument.loops.dpo import run_dpo
from instrument.loops.groups import Group
from instrument.loops.grpo import run_gmpo, run_grpo
from instrument.loops.kto import run_kto
from instrument.loops.rloo import run_rloo
from instrument.loops.sft import run_supervised
from instrument.objective_geometric import of_gmpo
from instrument.objective_pairs import PairOptions, of_dpo, of_kto, of_sft
from instrument.objective_policy import Options, of_grpo, of_rloo
from instrument.objective_verdict import miss
from instrument.tiny import near, tiny_policy
from instrument.trl_rows import ANSWERS, PAIRS, groups
from instrument.trl_runs import compared
from tests.properties.objectives import RATE, assert_follows
from tests.properties.strategies import VOCABULARY, Ids, answers, few, pairs, rollouts, seeds
from tests.properties.trl_loops import CLASSES, weighed

splits = st.fixed_dictionaries({"micro_batch": st.integers(1, 3), "gradient_accumulation_steps": st.integers(1, 3)})
SFT = "trl.trainer.sft_trainer:SFTTrainer"
DPO = "trl.trainer.dpo_trainer:DPOTrainer"
KTO = "trl.trainer.kto_trainer:KTOTrainer"
GRPO = "trl.trainer.grpo_trainer:GRPOTrainer"
RLOO = "trl.trainer.rloo_trainer:RLOOTrainer"
GMPO = "trl.experimental.gmpo.gmpo_trainer:GMPOTrainer"
HALF = {"bf16": True, "learning_rate": RATE}


def halved(seed):
    """A policy as TRL trains it by default: parameters of float32, run in bfloat16."""
    return tiny_policy(VOCABULARY, seed).float()


def supervised(loss_type, lengths, split, seed):
    """Windows of SFTTrainer and their forms."""
    ids = Ids(seed)
    driven = run_supervised(halved(seed), [ids.take(n) for n in lengths], loss_type=loss_type, **HALF, **split)
    return driven.windows, of_sft(driven, loss_type)


def preferred(loss_type, drawn, split, seed):
    """Windows of DPOTrainer and their forms."""
    model, options = halved(seed), PairOptions(0.5)
    driven = run_dpo(model, drawn, reference=near(model), loss_type=[loss_type], beta=0.5, **HALF, **split)
    return driven.windows, of_dpo(driven, {loss_type: 1.0}, options)


def relative(loss_type, drawn, seed):
    """Windows of GRPOTrainer and their forms, each generation used in the window that it was made in."""
    groups, split = drawn
    split = {**split, "gradient_accumulation_steps": split["steps_per_generation"], "num_iterations": 1}
    longest = {"max_completion_length": 16}
    driven = run_grpo(halved(seed), groups, loss_type=loss_type, **HALF, **split, **longest)
    rewards = [reward for group in groups for reward in group.rewards]
    options = Options(loss_type, steps_per_generation=split["steps_per_generation"], **longest)
    return driven.windows, of_grpo(driven, rewards, len(groups[0].completions), options)


def unpaired(drawn, split, seed):
    """Windows of KTOTrainer and their forms; the baseline of "kto" would be of rows that run apart."""
    model, options = halved(seed), {"loss_type": "apo_zero_unpaired", "beta": 0.5}
    driven, mixed = run_kto(model, drawn, reference=near(model), **options, **HALF, **split)
    return driven.windows, of_kto(driven, mixed, [good for _, _, good in drawn], **options)


def left_out(drawn, seed):
    """Windows of RLOOTrainer and their forms, as for ``relative``; the divergence is of rows that run apart."""
    groups, split = drawn
    split = {**split, "gradient_accumulation_steps": split["steps_per_generation"], "num_iterations": 1}
    driven = run_rloo(halved(seed), groups, beta=0.0, **HALF, **split)
    rewards = [reward for group in groups for reward in group.rewards]
    return driven.windows, of_rloo(driven, rewards, len(groups[0].completions), beta=0.0)


def geometric(drawn, seed):
    """Windows of GMPOTrainer and their forms, as for ``relative``."""
    groups, split = drawn
    split = {**split, "gradient_accumulation_steps": split["steps_per_generation"], "num_iterations": 1}
    driven = run_gmpo(halved(seed), groups, beta=0.0, **HALF, **split)
    rewards = [reward for group in groups for reward in group.rewards]
    options = Options(steps_per_generation=split["steps_per_generation"])
    return driven.windows, of_gmpo(driven, rewards, len(groups[0].completions), options)


def groups_of(drawn):
    """The drawn groups, as the loop takes them."""
    given_groups, split = drawn
    return [Group(prompt, completions, [[r] for r in rewards]) for prompt, completions, rewards in given_groups], split


def too_large(original):
    """A loss that is 1 % too large."""

    def loss(*args, **kwargs):
        return 1.01 * original(*args, **kwargs)

    return loss


def means(windows, forms):
    """[3, row] means of weight, form and bound over the tokens of each completion that can be told."""
    rows = []
    for batch, form in ((b, f) for window, expected in zip(windows, forms) for b, f in zip(window, expected)):
        for told, *row in zip(batch.mask & ~np.isnan(form.allowed), batch.weight, form.weight, form.allowed):
            rows += [[table[told].mean() for table in row]] if told.any() else []
    return np.array(rows).T


def assert_holds(windows, forms):
    """Token by token, and on average over each completion."""
    assert_follows(windows, forms)
    weight, expected, allowed = means(windows, forms)
    assert np.all(np.abs(weight - expected) <= allowed)


def assert_seen(seam, run):
    """A loss that is 1 % too large shows at a token, and in the mean of every completion that should weigh anything."""
    with swapped(seam, "trl", too_large, lambda: None):
        windows, forms = run()
    _, first = miss(compared(windows, forms, {}).windows)
    assert "the closed form gives" in first
    weight, expected, allowed = means(windows, forms)
    assert np.any(expected)
    assert np.all((np.abs(weight - expected) > allowed)[expected != 0])


@pytest.mark.parametrize("loss_type", ["nll", "dft"])
@few
@given(lengths=st.lists(st.integers(2, 7), min_size=2, max_size=6), split=splits, seed=seeds)
def test_every_target_in_bfloat16(loss_type, lengths, split, seed):
    assert_holds(*supervised(loss_type, lengths, split, seed))


@pytest.mark.parametrize("loss_type", ["sigmoid", "ipo", "nca_pair"])
@few
@given(drawn=pairs(), split=splits, seed=seeds)
def test_every_token_of_dpo_in_bfloat16(loss_type, drawn, split, seed):
    assert_holds(*preferred(loss_type, drawn, split, seed))


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
@few
@given(drawn=rollouts(), seed=seeds)
def test_every_token_of_grpo_in_bfloat16(loss_type, drawn, seed):
    assert_holds(*relative(loss_type, groups_of(drawn), seed))


@few
@given(drawn=answers(), split=splits, seed=seeds)
def test_every_token_of_kto_in_bfloat16(drawn, split, seed):
    assert_holds(*unpaired(drawn, {**split, "micro_batch": 2}, seed))


@pytest.mark.parametrize("run", [left_out, geometric])
@few
@given(drawn=rollouts(), seed=seeds)
def test_every_token_of_rloo_and_gmpo_in_bfloat16(run, drawn, seed):
    assert_holds(*run(groups_of(drawn), seed))


# Behind the head of the others TRL keeps no log-probabilities, or their tokens have no weight of their own.
@pytest.mark.parametrize(
    "name", [name for name in CLASSES if name not in ("SFT", "DPO", "KTO", "GRPO", "RLOO", "GMPO")]
)
def test_what_bfloat16_would_hide_is_not_read(name):
    with pytest.raises((LookupError, ValueError), match=r"gives no log_probs|bf16=True"):
        weighed(name, [(1, 1, 1)] * 4, 0, bf16=True, micro_batch=4)


def test_one_percent_is_seen_in_bfloat16():
    split = {"micro_batch": 2, "gradient_accumulation_steps": 2}
    generated = groups(), {"micro_batch": 2, "steps_per_generation": 2}
    assert_seen(f"{KTO}._compute_loss", lambda: unpaired(ANSWERS, split, 0))
    assert_seen(f"{RLOO}._compute_loss", lambda: left_out(generated, 0))
    assert_seen(f"{GMPO}._compute_loss", lambda: geometric(generated, 0))
    assert_seen(f"{SFT}.compute_loss", lambda: supervised("nll", [4, 3, 6, 2], split, 0))
    assert_seen(f"{DPO}._compute_loss", lambda: preferred("sigmoid", PAIRS[:4], split, 0))
    assert_seen(
        f"{GRPO}._compute_loss", lambda: relative("dapo", (groups(), {"micro_batch": 2, "steps_per_generation": 2}), 0)
    )

"""R10: TRL's default bfloat16 gives every token its weight within float32's rounding, and a fault of 1 % does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults._plant import swapped
from instrument.loops.dpo import run_dpo
from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.sft import run_supervised
from instrument.objective_pairs import PairOptions, of_dpo, of_sft
from instrument.objective_policy import Options, of_grpo
from instrument.objective_verdict import miss
from instrument.tiny import near, tiny_policy
from instrument.trl_rows import PAIRS, groups
from instrument.trl_runs import compared
from tests.properties.objectives import RATE, assert_follows
from tests.properties.strategies import VOCABULARY, Ids, few, pairs, rollouts, seeds

splits = st.fixed_dictionaries({"micro_batch": st.integers(1, 3), "gradient_accumulation_steps": st.integers(1, 3)})
SFT = "trl.trainer.sft_trainer:SFTTrainer"
DPO = "trl.trainer.dpo_trainer:DPOTrainer"
GRPO = "trl.trainer.grpo_trainer:GRPOTrainer"
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


def groups_of(drawn):
    """The drawn groups, as the loop takes them."""
    given_groups, split = drawn
    return [Group(prompt, completions, [[r] for r in rewards]) for prompt, completions, rewards in given_groups], split


def too_large(original):
    """A loss that is 1 % too large."""

    def loss(*args, **kwargs):
        return 1.01 * original(*args, **kwargs)

    return loss


def assert_seen(seam, run):
    """A loss that is 1 % too large shows, in a run that had windows."""
    with swapped(seam, "trl", too_large, lambda: None):
        windows, forms = run()
    _, first = miss(compared(windows, forms, {}).windows)
    assert "the closed form gives" in first


@pytest.mark.parametrize("loss_type", ["nll", "dft"])
@few
@given(lengths=st.lists(st.integers(2, 7), min_size=2, max_size=6), split=splits, seed=seeds)
def test_every_target_in_bfloat16(loss_type, lengths, split, seed):
    assert_follows(*supervised(loss_type, lengths, split, seed))


@pytest.mark.parametrize("loss_type", ["sigmoid", "ipo", "nca_pair"])
@few
@given(drawn=pairs(), split=splits, seed=seeds)
def test_every_token_of_dpo_in_bfloat16(loss_type, drawn, split, seed):
    assert_follows(*preferred(loss_type, drawn, split, seed))


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
@few
@given(drawn=rollouts(), seed=seeds)
def test_every_token_of_grpo_in_bfloat16(loss_type, drawn, seed):
    assert_follows(*relative(loss_type, groups_of(drawn), seed))


def test_one_percent_is_seen_in_bfloat16():
    split = {"micro_batch": 2, "gradient_accumulation_steps": 2}
    assert_seen(f"{SFT}.compute_loss", lambda: supervised("nll", [4, 3, 6, 2], split, 0))
    assert_seen(f"{DPO}._compute_loss", lambda: preferred("sigmoid", PAIRS[:4], split, 0))
    assert_seen(
        f"{GRPO}._compute_loss", lambda: relative("dapo", (groups(), {"micro_batch": 2, "steps_per_generation": 2}), 0)
    )

"""R1, R3, R4, R8 for TRL's trainers: what leaves every weight alone, and what the log says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.loops.dpo import run_dpo
from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.sft import run_supervised
from instrument.objective_pairs import PairOptions, of_dpo, of_sft
from instrument.objective_policy import Options, of_grpo
from instrument.tiny import near, tiny_policy
from tests.properties.strategies import VOCABULARY, Ids, few, lengths, seeds

# Four rows, pairs or completions in one window, split into micro-batches of one size.
SPLITS = ({"micro_batch": 4}, {"micro_batch": 2, "gradient_accumulation_steps": 2})
shapes = st.lists(st.tuples(lengths, lengths, lengths), min_size=4, max_size=4)


def supervised(shapes, seed, order=(0, 1, 2, 3), **options):
    """Weights of the rows of SFTTrainer, by their place in `shapes`."""
    ids = Ids(seed)
    rows = [ids.take(sum(shape)) for shape in shapes]
    driven = run_supervised(tiny_policy(VOCABULARY, seed), [rows[i] for i in order], **options)
    return by_row(driven, of_sft(driven), order), driven


def preferred(shapes, seed, order=(0, 1, 2, 3), **options):
    """Weights of the rows of DPOTrainer, by their place."""
    ids, model = Ids(seed), tiny_policy(VOCABULARY, seed)
    pairs = [tuple(ids.take(n) for n in shape) for shape in shapes]
    driven = run_dpo(model, [pairs[i] for i in order], reference=near(model), beta=0.5, **options)
    rows = [2 * i + side for i in order for side in (0, 1)]
    return by_row(driven, of_dpo(driven, {"sigmoid": 1.0}, PairOptions(0.5)), rows), driven


def relative(shapes, seed, order=(0, 1, 2, 3), **options):
    """Weights of the completions of GRPOTrainer, by their place; two groups of two."""
    ids, order = Ids(seed), [i // 2 for i in order[::2]]
    given = [
        (ids.take(1), [(*ids.take(n), 2) for n in (first, second)], [[first / 4], [1 + second / 4]])
        for first, second, _ in shapes[:2]
    ]
    groups = [Group(*given[i]) for i in order]
    driven = run_grpo(tiny_policy(VOCABULARY, seed), groups, scale_rewards="none", **options)
    rewards = [reward for group in groups for reward in group.rewards]
    steps = options.get("gradient_accumulation_steps", 1)
    forms = of_grpo(driven, rewards, 2, Options(scale_rewards="none", steps_per_generation=steps))
    return by_row(driven, forms, [2 * i + side for i in order for side in (0, 1)]), driven


def by_row(driven, forms, places):
    """Place -> its scored weights in the first window, and how far each may be off."""
    return {
        places[number]: (weight[mask], allowed[mask])
        for batch, form in zip(driven.windows[0], forms[0])
        for number, mask, weight, allowed in zip(batch.numbers, batch.mask, batch.weight, form.allowed)
    }


def assert_same(one, other):
    """Both runs give every token the same weight."""
    assert sorted(one) == sorted(other)
    for place, (weight, allowed) in one.items():
        assert np.all(np.abs(weight - other[place][0]) <= allowed + other[place][1]), (place, weight, other[place][0])


runs = pytest.mark.parametrize("run", [supervised, preferred, relative])


@runs
@few
@given(shapes=shapes, seed=seeds)
def test_even_micro_batches_leave_every_weight_alone(run, shapes, seed):
    (whole, _), (split, _) = (run(shapes, seed, **split) for split in SPLITS)
    assert_same(whole, split)


@runs
@few
@given(shapes=shapes, seed=seeds)
def test_the_order_of_the_rows_leaves_every_weight_alone(run, shapes, seed):
    (straight, _), (turned, _) = (run(shapes, seed, order, **SPLITS[1]) for order in ((0, 1, 2, 3), (2, 3, 0, 1)))
    assert_same(straight, turned)


@runs
@few
@given(shapes=shapes, seed=seeds)
def test_more_padding_leaves_every_weight_alone(run, shapes, seed):
    (plain, _), (wide, _) = (run(shapes, seed, pad_to_multiple_of=width, **SPLITS[1]) for width in (None, 16))
    assert_same(plain, wide)


@few
@given(shapes=shapes, seed=seeds)
def test_the_log_of_sft_is_the_mean_over_the_targets(shapes, seed):
    _, driven = supervised(shapes, seed, **SPLITS[1])

    assert driven.record.logged == pytest.approx([window.objective() for window in driven.record.windows], rel=1e-5)


@few
@given(shapes=shapes, seed=seeds)
def test_the_log_of_dpo_is_the_mean_over_the_pairs(shapes, seed):
    _, driven = preferred(shapes, seed, **SPLITS[1])
    margins = []
    for batch in driven.windows[0]:
        chosen, rejected = np.split(((batch.policy - batch.reference) * batch.mask).sum(1), 2)
        margins += list(chosen - rejected)

    assert driven.record.logged == pytest.approx([np.mean(np.logaddexp(0, -0.5 * np.array(margins)))], rel=1e-5)

"""R1, R2, R6 and R11 to R14 for TRL's SFT, DPO and GRPO on two ranks; R7 is in the two files beside this one."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instrument.after_verdict import allowed_of, step_faults
from instrument.loops.groups import Group
from instrument.objective_pairs import PairOptions, of_dpo, of_sft
from instrument.objective_policy import Options, of_grpo
from instrument.ranks import merge
from tests.properties.strategies import Ids, lengths, seeds
from tests.properties.test_objectives_relations import differ, shown
from tests.properties.test_rank_preferences import together
from tests.properties.trl_loops import by_row
from tests.ranks.objective_jobs import RUNS, trained
from tests.ranks.pool import on_ranks

pytestmark = pytest.mark.spawn
# An example is a trainer of TRL on each rank, half a second.
fewest = settings(max_examples=max(2, settings.default.max_examples // 50))
trainers = pytest.mark.parametrize("trainer", RUNS)
shapes = st.lists(st.tuples(lengths, lengths, lengths), min_size=4, max_size=4)
# The first token of a row has no place, so a prompt needs two to be seen.
prompted = st.lists(st.tuples(st.integers(2, 3), lengths, lengths), min_size=4, max_size=4)
ROWS = ((1, 3, 2), (2, 1, 3), (1, 2, 1), (3, 2, 2))
PLACES = {"sft": {"beta": None}, "dpo": {"beta": 0.5}, "grpo": {"beta": 0.0, "scale_rewards": "none"}}


def given_of(trainer, shapes, seed):
    """Four rows or pairs, or two groups of two completions of which a tool wrote some."""
    ids = Ids(seed)
    if trainer == "sft":
        return [(ids.take(prompt), ids.take(completion)) for prompt, completion, _ in shapes]
    if trainer == "dpo":
        return [tuple(ids.take(n) for n in shape) for shape in shapes]
    groups = []
    for first, second, written in shapes[:2]:
        completions = [(*ids.take(n), 2) for n in (first, second)]
        marks = [[t >= min(written, len(row) - 1) for t in range(len(row))] for row in completions]
        groups.append(Group(ids.take(1), completions, [[first / 4], [1 + second / 4]], marks))
    return groups


def options_of(trainer, micro_batch, steps):
    """Of one window of so many micro-batches on each rank."""
    own = {name: value for name, value in PLACES[trainer].items() if value is not None}
    if trainer == "grpo":
        own["steps_per_generation"] = steps
    return {"micro_batch": micro_batch, "gradient_accumulation_steps": steps, **own}


def weights_of(trainer, driven, given_rows, parts):
    """Number of a row -> its scored weights, and how far each may be off; parts: micro-batches of a generation."""
    if trainer == "sft":
        forms = of_sft(driven)
    elif trainer == "dpo":
        forms = of_dpo(driven, {"sigmoid": 1.0}, PairOptions(0.5))
    else:
        rewards = [reward for group in given_rows for reward in group.rewards]
        forms = of_grpo(driven, rewards, 2, Options(scale_rewards="none", steps_per_generation=parts))
    return by_row(driven.windows, forms, range(2 * len(given_rows)))


def on_two(trainer, rows, seed, micro_batch, steps):
    return together(*on_ranks(RUNS[trainer], rows, seed, options_of(trainer, micro_batch, steps)))


@trainers
@fewest
@given(shapes=shapes, seed=seeds)
def test_how_a_window_is_split_over_ranks_and_micro_batches_leaves_every_weight_alone(trainer, shapes, seed):
    rows = given_of(trainer, shapes, seed)
    alone = weights_of(trainer, RUNS[trainer](rows, seed, options_of(trainer, 4, 1)), rows, 1)

    assert 4 * (1 + (trainer == "dpo")) == len(alone)
    assert shown(alone)
    for micro_batch, steps in ((2, 1), (1, 2)):
        split = on_two(trainer, rows, seed, micro_batch, steps)
        assert [] == differ(alone, weights_of(trainer, split, rows, 2 * steps))


@trainers
@fewest
@given(shapes=prompted, seed=seeds, micro_batch=st.integers(1, 2))
def test_what_is_not_scored_weighs_exactly_nothing_and_each_sample_runs_once(trainer, shapes, seed, micro_batch):
    rows = given_of(trainer, shapes, seed)
    driven = on_two(trainer, rows, seed, micro_batch, 2 // micro_batch)

    batches = [batch for window in driven.windows for batch in window]
    for batch in batches:
        assert not batch.mask.all()
        assert not batch.weight[~batch.mask].any()
    count = 2 * len(rows) if trainer != "sft" else len(rows)
    assert Counter(range(count)) == Counter(int(n) for batch in batches for n in batch.numbers)


@trainers
@pytest.mark.parametrize("adapter", [(), ("q_proj", "down_proj")], ids=["whole", "LoRA"])
def test_the_step_consumes_what_all_ranks_contributed_and_reaches_all_that_trains(trainer, adapter):
    rows = given_of(trainer, ROWS, 0)
    measured = on_ranks(trained, trainer, rows, 0, options_of(trainer, 1, 2), adapter, True)
    record = merge([record for record, _ in measured])

    (window,) = record.windows
    after = window.after
    assert after.reach.nonzero.any(1).all()
    assert len(after.reach.names) == (4 if adapter else 12)
    places = {"last matrix"} if adapter else {"last norm", "head", "embedding rows"}
    assert places == {found.place for found in after.sums}
    # TRL adds up the gradient of the head's matrix in float32, whatever the model computes in.
    rounded = {"head": replace(record, work_dtype="float32")}
    for found in after.sums:
        assert found.residual <= allowed_of(rounded.get(found.place, record), found) < 0.1
    assert np.isfinite(after.step.moved).any()
    assert not after.step.unjudged
    assert [] == step_faults(after)[0]


@trainers
@pytest.mark.parametrize("adapter", [(), ("q_proj", "down_proj")], ids=["whole", "LoRA"])
def test_watching_a_trainer_of_trl_and_its_optimizer_changes_nothing_on_any_rank(trainer, adapter):
    rows = given_of(trainer, ROWS, 0)
    options = {**options_of(trainer, 1, 2), "optim": "adamw_torch", "max_grad_norm": 0.5}

    alone, measured = (on_ranks(trained, trainer, rows, 0, options, adapter, watched) for watched in (False, True))

    assert [left for _, left in alone] == [left for _, left in measured]
    assert all(moments for _, (_, moments, _) in alone)

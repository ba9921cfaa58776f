"""R15 for TRL's trainers: a factor of the loss is one of every weight; and reach: a gradient comes to every adapter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument import watch
from instrument.loops import dpo, groups, scored, sft
from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.objective_pairs import PairOptions, of_dpo
from instrument.objective_policy import Options, of_grpo
from instrument.tiny import near, tiny_policy
from tests.properties.strategies import VOCABULARY, few, pairs, rollouts, seeds
from tests.properties.test_objectives_policy import groups_of, rewards_of

factors = st.sampled_from([0.25, 2.0, 3.0])
WINDOW = {"micro_batch": 2, "gradient_accumulation_steps": 2}


def assert_scaled(one, other, forms, factor):
    """Every weight of one run is that of the other times the factor, as far as rounding lets it be told."""
    tables = ((b for window in of for b in window) for of in (one.windows, other.windows, *forms))
    for mine, theirs, here, there in zip(*tables):
        np.testing.assert_array_equal(mine.numbers, theirs.numbers)
        np.testing.assert_array_equal(mine.weight == 0, theirs.weight == 0)
        off, allowed = np.abs(mine.weight - factor * theirs.weight), here.allowed + factor * there.allowed
        assert np.all((off <= allowed) | np.isnan(allowed)), (mine.weight, theirs.weight)


@few
@given(drawn=pairs(), factor=factors, seed=seeds)
def test_a_factor_of_the_loss_of_dpo_is_one_of_every_weight(drawn, factor, seed):
    def run(share):
        model = tiny_policy(VOCABULARY, seed)
        # Without a step the second window would see another model.
        options = {"learning_rate": 0.0, "loss_weights": [share], "loss_type": ["sigmoid"], "beta": 0.5}
        driven = dpo.run_dpo(model, drawn, reference=near(model), **options, **WINDOW)
        return driven, of_dpo(driven, {"sigmoid": share}, PairOptions(0.5))

    (one, here), (other, there) = run(factor), run(1.0)
    assert_scaled(one, other, (here, there), factor)


@few
@given(drawn=rollouts(), factor=factors, seed=seeds)
def test_a_factor_of_the_rewards_of_grpo_is_one_of_every_weight(drawn, factor, seed):
    given_groups, split = drawn

    def run(share):
        scaled = [(prompt, ids, [share * r for r in rewards]) for prompt, ids, rewards in given_groups]
        options = {"learning_rate": 0.0, "scale_rewards": "none", "beta": 0.0}
        driven = run_grpo(tiny_policy(VOCABULARY, seed), groups_of(scaled), **options, **split)
        closed = Options(scale_rewards="none", steps_per_generation=split["steps_per_generation"])
        return driven, of_grpo(driven, rewards_of(scaled), len(scaled[0][1]), closed)

    (one, here), (other, there) = run(factor), run(1.0)
    assert_scaled(one, other, (here, there), factor)


def watched(monkeypatch, run):
    """A run of a loop with everything after backward watched: the report."""
    found = []

    def drive(trainer, *rest):
        trainer.create_optimizer()
        with watch(trainer.model, trainer.optimizer) as report:
            found.append(report)
            return plain(trainer, *rest)

    plain = scored.drive
    for module in (dpo, groups, scored):
        monkeypatch.setattr(module, "drive", drive)
    run()
    return found[0]


def supervised(adapter):
    rows = ((3, 4, 5, 6, 7), (8, 9, 10), (11, 12, 13, 14), (15, 16))
    sft.run_supervised(tiny_policy(VOCABULARY), rows, peft=adapter, **WINDOW)


def preferred(adapter):
    drawn = [((3,), (4, 5), (6,)), ((7, 8), (9,), (10, 11)), ((12,), (13,), (14,)), ((15,), (16, 17), (18,))]
    model = tiny_policy(VOCABULARY)
    dpo.run_dpo(model, drawn, reference=tiny_policy(VOCABULARY), peft=adapter, beta=0.5, **WINDOW)


def relative(adapter):
    drawn = [Group((3,), [(4, 5, 2), (6, 2)], [[1.0], [0.0]]), Group((7,), [(8, 2), (9, 10, 2)], [[0.5], [2.0]])]
    run_grpo(tiny_policy(VOCABULARY), drawn, peft=adapter, beta=0.0, **WINDOW)


@pytest.mark.parametrize("run", [supervised, preferred, relative])
@pytest.mark.parametrize("modules", [("q_proj", "down_proj"), ("v_proj",), ("embed_tokens", "k_proj")])
def test_every_matrix_of_an_adapter_is_reached_in_every_window(run, modules, monkeypatch):
    report = watched(monkeypatch, lambda: run(scored.lora(modules)))

    assert report.windows
    for window in report.windows:
        assert (window.reached, window.trainable) == (2 * len(modules), 2 * len(modules))
        assert window.after.reach.nonzero.any(1).all()
        assert window.after.step is not None

"""What the loops of TRL's trainers refuse, in one clear error each, and what they read."""

import dataclasses

import numpy as np
import pytest
from transformers import LlamaForSequenceClassification
from trl import DPOTrainer, GRPOTrainer

from instrument.loops import arguments
from instrument.loops.dpo import run_dpo
from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.kto import run_kto
from instrument.loops.reward import run_reward
from instrument.loops.rloo import run_rloo
from instrument.loops.sft import run_supervised
from instrument.objective_bounds import expected, log_p_error, sensitivity
from instrument.tiny import near, tiny_policy, tiny_reward

PAIRS = [((3, 4), (5, 6), (7,)), ((8,), (9,), (10, 11))]
GROUPS = [((3,), ((4, 2), (5, 6)), ((1.0,), (0.0,)))]


def dpo(pairs=PAIRS, **options):
    model = tiny_policy(32)
    return run_dpo(model, pairs, reference=near(model), micro_batch=2, **options)


def policy_gradient(kind="grpo", groups=GROUPS, reference=None, micro_batch=2, **options):
    run = {"grpo": run_grpo, "rloo": run_rloo}[kind]
    rows = [Group(*group) for group in groups]
    return run(tiny_policy(32), rows, reference=reference, micro_batch=micro_batch, **options)


def test_rloo_has_a_penalty_unless_told_otherwise():
    with pytest.raises(ValueError, match="reference=None"):
        policy_gradient("rloo")


@pytest.mark.parametrize("kind", ["grpo", "rloo"])
@pytest.mark.parametrize(
    ("groups", "micro_batch"),
    [
        (GROUPS, 3),
        ([((3,), ((4, 2),), ((1.0,),))], 1),
        ([*GROUPS, ((7,), ((8,), (9,), (10,)), ((1.0,),) * 3)], 6),
    ],
)
def test_a_group_that_does_not_divide_the_generation_is_refused(kind, groups, micro_batch):
    with pytest.raises(ValueError, match="must divide micro_batch x steps_per_generation"):
        policy_gradient(kind, groups, micro_batch=micro_batch, beta=0.0)


def test_marks_of_another_length_are_refused():
    with pytest.raises(ValueError, match="one mark for each token"):
        policy_gradient(groups=[(*GROUPS[0], ((True, True), (True,)))])


@pytest.mark.parametrize("completions", [((4, 2), (4, 2)), ((4,), ())])
def test_a_twin_or_an_empty_completion_is_refused(completions):
    with pytest.raises(ValueError, match="no twin, got the row"):
        policy_gradient(groups=[((3,), completions, ((1.0,), (0.0,)))])


@pytest.mark.parametrize("pairs", [[PAIRS[0], PAIRS[0]], [((3,), (), (4,))]])
def test_pairs_that_cannot_be_told_apart_are_refused(pairs):
    with pytest.raises(ValueError, match="no row twice"):
        dpo(pairs)


def test_a_trainer_that_takes_no_rollouts_is_handed_the_same_completions_by_its_model(monkeypatch):
    rolled = policy_gradient()
    make = GRPOTrainer.__init__

    def without(self, model, reward_funcs, args, train_dataset, processing_class, peft_config):
        make(self, model, reward_funcs, args, train_dataset, None, processing_class, peft_config=peft_config)

    monkeypatch.setattr(GRPOTrainer, "__init__", without)
    generated = policy_gradient()

    assert "rollout_func" in rolled.record.changes
    assert "model.generate" in generated.record.changes
    for window, same in zip(rolled.windows, generated.windows, strict=True):
        for batch, alike in zip(window, same, strict=True):
            np.testing.assert_array_equal(batch.weight, alike.weight)
    with pytest.raises(LookupError, match=r"^trl \d+\.\d+.*is not told which tokens a tool wrote"):
        policy_gradient(groups=[(*GROUPS[0], ((True, False), (True, True)))])


def test_an_argument_that_a_release_does_not_know_is_named_unless_it_could_do_no_other():
    @dataclasses.dataclass
    class Config:
        beta: float = 0.0

    assert arguments.known(Config, {"beta": 1.0, "shuffle_dataset": False}) == {"beta": 1.0}
    with pytest.raises(LookupError, match="Config knows no shuffle_dataset, asked for True"):
        Config.__module__ = "trl.trainer"
        arguments.known(Config, {"shuffle_dataset": True})


def test_a_row_from_elsewhere_is_named(monkeypatch):
    original = DPOTrainer._compute_loss

    def _compute_loss(self, model, inputs, return_outputs=False):
        return original(self, model, {**inputs, "input_ids": inputs["input_ids"].clamp(max=9)}, return_outputs)

    monkeypatch.setattr(DPOTrainer, "_compute_loss", _compute_loss)
    with pytest.raises(RuntimeError, match=r"the trainer ran the row \[8, 9, 9.*none of the 4 that were given: trl"):
        dpo()


def test_a_mask_of_another_length_is_refused():
    with pytest.raises(ValueError, match="completion_mask has rows of"):
        run_supervised(tiny_policy(32), [[3, 4, 5]], {"completion_mask": [[1, 1]]}, micro_batch=1)
    with pytest.raises(ValueError, match="and no row twice"):
        run_supervised(tiny_policy(32), [[3, 4, 5]] * 2, micro_batch=1)


def test_a_reward_model_of_another_shape_is_refused():
    pairs = [((3, 4), (5,))]
    config = tiny_reward(32).config
    config.num_labels = 2
    with pytest.raises(ValueError, match="num_labels=1"):
        run_reward(LlamaForSequenceClassification(config), pairs, micro_batch=1)
    with pytest.raises(ValueError, match="one margin each"):
        run_reward(tiny_reward(32), pairs, margins=[1.0, 2.0], micro_batch=1)


def test_an_answer_given_twice_is_refused():
    model = tiny_policy(32)
    with pytest.raises(ValueError, match="no row twice"):
        run_kto(model, [((3,), (4,), True)] * 2, reference=near(model), micro_batch=2)


def test_log_probabilities_are_those_of_the_window_not_of_the_end():
    driven = dpo(gradient_accumulation_steps=1, num_train_epochs=2, learning_rate=0.5)
    (first,), (second,) = driven.windows

    assert np.abs(first.policy - second.policy).max() > 0.01
    np.testing.assert_array_equal(first.reference, second.reference)


def test_old_log_probabilities_are_those_of_the_generation():
    driven = policy_gradient(num_iterations=2, learning_rate=0.5)
    (first,), (second,) = driven.windows

    np.testing.assert_array_equal(first.old, first.policy)
    order = np.argsort(first.numbers), np.argsort(second.numbers)
    np.testing.assert_allclose(second.old[order[1]], first.old[order[0]], rtol=1e-12)
    assert np.abs(second.old - second.policy).max() > 0.001
    assert driven.generations == [[0, 1]]


def test_what_is_changed_from_the_defaults_is_recorded():
    changes = policy_gradient().record.changes

    assert {"optim", "max_grad_norm", "rollout_func", "reference"} <= changes.keys()


def square(values):
    """x^2 and x y, whose addends are themselves."""
    weight = np.array([[values["x"][0, 0] ** 2, values["x"][0, 0] * values["y"][0, 0]]])
    return weight, np.abs(weight)


def test_sensitivity_adds_up_over_the_arguments():
    values = {"x": np.array([[3.0]]), "y": np.array([[5.0]])}

    moved = sensitivity(square, values, {"x": np.array([[1 / 8]]), "y": np.array([[1 / 4]])})
    np.testing.assert_allclose(moved, [[(3 + 1 / 8) ** 2 - 9, 5 / 8 + 3 / 4]])
    np.testing.assert_array_equal(sensitivity(square, values, {}), [[0, 0]])


def test_what_must_be_zero_is_allowed_nothing():
    zero = {"x": np.zeros((1, 1)), "y": np.zeros((1, 1))}

    found = expected(square, zero, {}, 32, np.ones((1, 2)), np.ones((1, 2)))
    np.testing.assert_array_equal(found.allowed, [[0, 0]])


def test_what_rounding_hides_is_not_a_number():
    values = {"x": np.array([[1.0]]), "y": np.array([[1.0]])}

    found = expected(square, values, {"y": np.array([[1 / 4]])}, 32, np.ones((1, 2)), np.ones((1, 2)))
    assert found.allowed[0, 0] < 1e-3
    assert np.isnan(found.allowed[0, 1])


def test_the_error_of_a_log_probability():
    mask = np.array([[True, True, False]])

    error = log_p_error(np.full((1, 3), 2.0), np.array([[-1.0, -3.0, -5.0]]), mask, 64)
    size = 6 * 2 + 64 / 4 + 3 * np.log(64) + 6
    np.testing.assert_allclose(error, [[(size + 11) / 2**24, (size + 33) / 2**24, 0]])

"""A trainer of another release is named with the version, and with what it does not have or does not take."""

import importlib
from pathlib import Path

import pytest
from peft import LoraConfig
from transformers import Trainer
from trl import GRPOTrainer, RLOOTrainer

from instrument.loops import installed
from instrument.loops.async_grpo import Rollout, run_async_grpo
from instrument.loops.gold_across import run_gold_across, run_gold_sampled
from instrument.loops.installed import Installed
from instrument.tiny import tiny_policy
from instrument.trl_across import MERGES
from instrument.trl_trainers import CHECKED
from tests.instrument.test_loops_refuse import LOOPS, run


@pytest.mark.parametrize("name", LOOPS)
def test_arguments_that_a_trainer_does_not_take_are_named_with_the_version(name, monkeypatch):
    def __init__(self, *, reward_funcs=None):
        pass

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    for path in CHECKED:
        module, kind = path.rsplit(".", 1)
        monkeypatch.setattr(getattr(importlib.import_module(f"trl.{module}"), kind), "__init__", __init__)

    said = r".*__init__\(\) got an unexpected .*another seam|GRPOTrainer takes no rollout_func"
    with pytest.raises((TypeError, LookupError), match=rf"^trl \d+\.\d+\.\d+: ({said})"):
        run(name)


@pytest.mark.parametrize("name", LOOPS)
def test_what_a_trainer_does_not_have_is_named_with_the_version(name, monkeypatch):
    monkeypatch.delattr(Trainer, "remove_callback")

    with pytest.raises(LookupError, match=r"^trl \d+\.\d+\.\d+: \w+Trainer has no remove_callback: .*another seam"):
        run(name)


@pytest.mark.parametrize(
    "name", ["grpo.run_grpo", "grpo.run_gmpo", "sampled.run_sampled", "entropy_bonus.run_with_bonus"]
)
def test_a_turn_that_grpo_does_not_generate_is_named_with_the_version(name, monkeypatch):
    monkeypatch.delattr(GRPOTrainer, "_generate_single_turn")

    with pytest.raises(LookupError, match=r"^trl \d+\.\d+\.\d+: GRPOTrainer has no _generate_single_turn: .*seam"):
        run(name)


COUNTED = [("micro_batch", 0), ("micro_batch", "two"), ("micro_batch", 1.5), ("gradient_accumulation_steps", 0)]


@pytest.mark.parametrize(("option", "number"), COUNTED)
@pytest.mark.parametrize("name", LOOPS)
def test_a_count_that_is_none_is_named(name, option, number):
    with pytest.raises(ValueError, match=rf"^{option}={number!r}: give a whole number, 1 or more$"):
        run(name, **{option: number})


@pytest.mark.parametrize(("option", "number"), COUNTED)
def test_a_count_that_is_none_is_named_where_texts_or_rollouts_are_given(option, number):
    model, said = tiny_policy(32), rf"^{option}={number!r}: give a whole number, 1 or more$"
    given = {"micro_batch": 2, option: number}

    with pytest.raises(ValueError, match=said):
        run_async_grpo(model, [Rollout((3,), (4,), 1.0), Rollout((5,), (6,), -1.0)], **given)
    with pytest.raises(ValueError, match=said):
        run_gold_across(tiny_policy(33), tiny_policy(35), MERGES, [("x", "y"), ("z", "y")], **given)
    with pytest.raises(ValueError, match=said):
        run_gold_sampled(tiny_policy(33), tiny_policy(35), MERGES, [("x", "y")], [[3, 2]], **given)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("Trainer(nothing=1)", r"^Trainer\.__init__\(\) got an unexpected"),
        ("RLOOTrainer(nothing=1)", r"^trl \d+\.\d+\.\d+: RLOOTrainer\.__init__\(\) got an unexpected"),
        ("LoraConfig(nothing=1)", r"^LoraConfig\.__init__\(\) got an unexpected"),
    ],
)
def test_what_another_library_does_not_take_is_not_said_of_trl(call, told):
    # As if a loop had called it.
    code = compile(call, str(Path(installed.__file__).with_name("loop.py")), "eval")
    known = {"Trainer": Trainer, "RLOOTrainer": RLOOTrainer, "LoraConfig": LoraConfig}

    with pytest.raises(TypeError, match=told), Installed():
        eval(code, known)


def test_what_goes_wrong_elsewhere_is_left_as_it_is():
    with pytest.raises(AttributeError, match=r"^'int' object has no attribute 'model'$"), Installed():
        print((3).model)
    with pytest.raises(TypeError, match=r"^int\(\) argument"), Installed():
        int([])

"""A trainer of another release is named with the version, and with what it does not have or does not take."""

import importlib

import pytest
from transformers import Trainer
from trl import GRPOTrainer

from instrument.loops.installed import Installed
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


def test_what_goes_wrong_elsewhere_is_left_as_it_is():
    with pytest.raises(AttributeError, match=r"^'int' object has no attribute 'model'$"), Installed():
        print((3).model)
    with pytest.raises(TypeError, match=r"^int\(\) argument"), Installed():
        int([])

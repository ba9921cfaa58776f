"""Every trainer of the installed TRL is driven by a check of the report, or stands in it with a reason."""

import importlib
from types import SimpleNamespace

import pytest
import torch
from datasets import Dataset
from transformers import Trainer

from instrument import trl_checks, trl_trainers
from instrument.loops.arguments import of_trl
from instrument.loops.installed import Installed
from instrument.loops.reference_free import experimental
from instrument.loops.scored import tokenizer_of_words, words
from instrument.objective_verdict import judge_objective
from instrument.tiny import tiny_policy
from instrument.trl_rows import VOCABULARY

# Those that have a loop of their own: the others are the stable ones under a former name.
OWN = sorted(
    set(trl_trainers.CHECKED) - {"experimental.distillation.DistillationTrainer", "experimental.kto.KTOTrainer"}
)


def class_of(name):
    """The class of that name in the installed TRL."""
    module, kind = f"trl.{name}".rsplit(".", 1)
    return getattr(importlib.import_module(module), kind)


def test_every_trainer_of_the_installed_trl_is_checked_or_has_a_reason():
    assert set(trl_trainers.installed()) == {*trl_trainers.CHECKED, *trl_trainers.NOT_CHECKED}


@pytest.mark.filterwarnings("ignore")
def test_what_is_read_from_the_files_are_trainers():
    assert all(issubclass(class_of(name), Trainer) for name in trl_trainers.installed())


def test_a_trainer_that_nobody_knows_is_a_check_that_was_not_run(monkeypatch):
    monkeypatch.delitem(trl_trainers.CHECKED, "trainer.rloo_trainer.RLOOTrainer")
    (found,) = [run for name, _, run in trl_checks.trl_checks() if name == "trl.trainer.rloo_trainer.RLOOTrainer"]
    measured, status, _ = judge_objective(found(), [])

    assert status == "not run"
    assert measured.startswith("trl 1.")
    assert measured.endswith("no check drives it: what its tokens weigh is not known")


@pytest.mark.slow
@pytest.mark.drivers
@pytest.mark.parametrize("name", OWN)
def test_the_check_of_a_trainer_runs_it(name, monkeypatch):
    trainer, ran = class_of(name), []
    original = trainer.train

    def train(self, *args, **options):
        ran.append(type(self))
        return original(self, *args, **options)

    monkeypatch.setattr(trainer, "train", train)
    run = next(run for check, _, run in trl_checks.trl_checks() if check.startswith(trl_trainers.CHECKED[name]))
    run()

    assert any(issubclass(each, trainer) for each in ran)


@pytest.mark.parametrize(
    "options, error, said",
    [
        pytest.param(
            {},
            (AssertionError, RuntimeError),
            "CUDA|NVIDIA",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU it goes on, to ask for vLLM"),
        ),
        ({"model_init_kwargs": {"attn_implementation": "sdpa"}}, TypeError, "multiple values.*'attn_implementation'"),
    ],
    ids=["its own attention", "another"],
)
def test_async_grpo_cannot_be_built_here_as_it_is(options, error, said, tmp_path):
    """Why its loop emulates the kernel, and leaves the speed of the device unasked."""
    trainer, config = experimental("async_grpo", "AsyncGRPO")
    tiny_policy(VOCABULARY).save_pretrained(tmp_path)
    args = of_trl(config, str(tmp_path / "out"), max_steps=1, **options)

    with Installed(), pytest.raises(error, match=said):
        trainer(
            model=str(tmp_path),
            reward_funcs=lambda **_: [0.0],
            args=args,
            train_dataset=Dataset.from_list([{"prompt": words((3,))}]),
            processing_class=tokenizer_of_words(VOCABULARY, "left"),
            rollout_worker=SimpleNamespace(rollout_buffer=None),
        )

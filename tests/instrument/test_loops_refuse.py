"""Bad input to any loop over a trainer of TRL is one clear error: what came, the rule, what to do."""

import importlib
import inspect
import pkgutil
import re

import pytest
from trl import DPOTrainer, GRPOTrainer

from instrument import loops, trl_trainers
from instrument.loops.groups import Group
from instrument.loops.reference_free import experimental
from instrument.loops.refused import CHOICES, LOSSES
from instrument.tiny import near, tiny_policy, tiny_reward

VOCABULARY = 32
PAIRS = [((3, 4), (5, 6), (7,)), ((8,), (9,), (10, 11))]
ANSWERS = [((3,), (4, 2)), ((5,), (6, 2))]
REWARDS = ((1.0,), (0.0,))


def groups(rewards=REWARDS, completions=((4, 2), (5, 6))):
    return [Group((3,), completions, rewards)]


def valued(**change):
    a2po = importlib.import_module("instrument.loops.a2po")
    return [a2po.Valued((3,), (4, 2), 1.0, ((5, 2), (6, 2)), (1.0, 0.0))._replace(**change)]


def policy():
    return {"model": tiny_policy(VOCABULARY)}


def compared():
    model = tiny_policy(VOCABULARY)
    return {"model": model, "reference": near(model)}


def taught():
    return {**policy(), "teacher": tiny_policy(VOCABULARY, 1), "answers": ANSWERS}


def told(answers=ANSWERS):
    return [(prompt, (*prompt, 1), completion) for prompt, completion in answers]


# Name of each loop, to its arguments but micro_batch.
LOOPS = {
    "sft.run_supervised": lambda: {**policy(), "rows": [[3, 4, 5], [6, 7]]},
    "dpo.run_dpo": lambda: {**compared(), "pairs": PAIRS},
    "dpo.run_dpo_averaged": lambda: {**compared(), "pairs": PAIRS, "moves": None, "average": {}},
    "kto.run_kto": lambda: {**compared(), "answers": [((3,), (4,), True), ((5,), (6,), False)]},
    "reward.run_reward": lambda: {"model": tiny_reward(VOCABULARY), "pairs": [((3, 4), (5,)), ((6,), (7, 8))]},
    "grpo.run_grpo": lambda: {**policy(), "groups": groups(), "beta": 0.0},
    "grpo.run_gmpo": lambda: {**policy(), "groups": groups(), "beta": 0.0},
    "rloo.run_rloo": lambda: {**policy(), "groups": groups(), "beta": 0.0},
    "sampled.run_sampled": lambda: {**policy(), "groups": groups(), "drift": [[0.0, 0.0]] * 2},
    "entropy_bonus.run_with_bonus": lambda: {**policy(), "groups": groups(), "push": None},
    "sdpo.run_sdpo": lambda: {**policy(), "groups": groups()},
    "sdpo.run_sdpo_words": lambda: {**policy(), "groups": groups()},
    "online_dpo.run_online_dpo": lambda: {**compared(), "groups": groups()},
    "reference_free.run_cpo": lambda: {**policy(), "pairs": PAIRS},
    "reference_free.run_orpo": lambda: {**policy(), "pairs": PAIRS},
    "reference_free.run_tpo": lambda: {**policy(), "triples": [(*pair, (12 + i,)) for i, pair in enumerate(PAIRS)]},
    "distillation.run_distillation": taught,
    "gkd.run_gkd": taught,
    "gkd.run_gold": taught,
    "iw_opd.run_iw_opd": taught,
    "iw_opd.run_iw_opd_jsd": taught,
    "server_distillation.run_server_distillation": taught,
    "async_distillation.run_async_distillation": taught,
    "sdft.run_sdft": lambda: {**policy(), "told": told()},
    "sdft.run_sdft_sampled": lambda: {**policy(), "told": told()},
    "a2po.run_a2po": lambda: {**policy(), "prompts": valued()},
}
# GOLD across tokenizers takes texts: test_trl_across. AsyncGRPO takes rollouts, and no loss_type: test_trl_async.
ELSEWHERE = {"gold_across.run_gold_across", "gold_across.run_gold_sampled", "async_grpo.run_async_grpo"}


def run(name, micro_batch=2, **change):
    """A loop on its good arguments, with some changed."""
    module, function = name.split(".")
    found = getattr(importlib.import_module(f"instrument.loops.{module}"), function)
    return found(**{**LOOPS[name](), **change}, micro_batch=micro_batch)


def rows_of(name):
    """The name of the argument that holds the rows."""
    return next(key for key in LOOPS[name]() if key not in ("model", "reference", "teacher"))


def taking(argument):
    return pytest.mark.parametrize("name", [name for name in LOOPS if argument in LOOPS[name]()])


def test_every_loop_over_a_trainer_of_trl_is_tried():
    found = set()
    for _, module, _ in pkgutil.iter_modules(loops.__path__):
        for function, each in inspect.getmembers(importlib.import_module(f"instrument.loops.{module}")):
            own = inspect.isfunction(each) and each.__module__ == f"instrument.loops.{module}"
            if own and function.startswith("run_") and "micro_batch" in inspect.signature(each).parameters:
                found.add(f"{module}.{function}")

    shared = {"dpo.run_like_dpo", "grpo.run_like_grpo", "groups.run_on", "distillation.run_like_distillation"}
    plain = {"trainer.run_trainer", "accelerate_loop.run_accelerate", "sft.run_sft"}
    assert found - shared - plain == set(LOOPS) | ELSEWHERE


@pytest.mark.parametrize("name", LOOPS)
def test_an_unknown_loss_is_named_with_the_version_and_the_trainer(name):
    with pytest.raises((ValueError, LookupError), match=r"^trl \d+\.\d+\.\d+: \w+ (has|knows) no loss_type.*'nope'"):
        run(name, loss_type="nope")


def test_every_trainer_with_a_choice_of_losses_has_them_listed():
    # Of the stable ones under their former names there is no class of arguments.
    names = {name.rsplit(".", 1)[1].removesuffix("Trainer") for name in trl_trainers.CHECKED}
    found = set()
    for name in names:
        stable = getattr(importlib.import_module("trl"), f"{name}Config", None)
        # The package of trl.experimental is the name in small letters, with underscores between its words.
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=IW)(?=OPD)", "_", name).lower()
        config = stable or experimental(words, name)[1]
        if "loss_type" in config.__dataclass_fields__:
            found.add(config.__name__)

    assert found == set(LOSSES)


@taking("reference")
def test_a_missing_reference_is_named(name):
    with pytest.raises(ValueError, match=r"^reference=None, but this loss compares with a reference: give a model"):
        run(name, reference=None)


@pytest.mark.parametrize("name", ["grpo.run_grpo", "grpo.run_gmpo", "rloo.run_rloo", "sampled.run_sampled"])
def test_a_penalty_needs_its_reference(name):
    with pytest.raises(ValueError, match=r"^reference=None"):
        run(name, beta=0.1)


@taking("teacher")
def test_a_missing_teacher_is_named(name):
    with pytest.raises(ValueError, match=r"^teacher=None, but this loss compares with a teacher: give a model"):
        run(name, teacher=None)


@taking("groups")
def test_a_group_of_another_size_than_asked_is_refused(name):
    three = groups(((1.0,), (0.0,), (2.0,)), ((4, 2), (5, 6), (7, 2)))
    drift = {"drift": [[0.0, 0.0]] * 3} if name == "sampled.run_sampled" else {}

    with pytest.raises(ValueError, match=r"groups hold \[3\] completions and a generation 2|got groups of \[3\]"):
        run(name, groups=three, **drift)


@pytest.mark.parametrize(
    ("rewards", "said"),
    [
        (((1.0,),), "give one list of rewards for each completion"),
        (((1.0,), (0.0,), (2.0,)), "give one list of rewards for each completion"),
        (((1.0,), (0.0, 1.0)), "give each completion a list, one reward of each reward function"),
        (((1.0, 0.0), (0.0,)), "give each completion a list, one reward of each reward function"),
        (((), ()), "give each completion a list, one reward of each reward function"),
        ((1.0, 0.0), "give each completion a list, one reward of each reward function"),
        (((float("nan"),), (0.0,)), "a reward is a finite number, or None"),
        (((float("inf"),), (0.0,)), "a reward is a finite number, or None"),
    ],
)
@taking("groups")
def test_rewards_that_no_functions_could_have_given_are_refused(name, rewards, said):
    with pytest.raises(
        ValueError, match=rf"the prompt \[3\] has 2 completions and the rewards .*{said}|OnlineDPO asks"
    ):
        run(name, groups=groups(rewards))


def test_online_dpo_asks_one_function_for_every_reward():
    for rewards in (((None,), (1.0,)), ((1.0, 2.0), (0.0, 3.0))):
        with pytest.raises(ValueError, match="OnlineDPO asks one function for every reward"):
            run("online_dpo.run_online_dpo", groups=groups(rewards))


@pytest.mark.parametrize("change", [{"reward": None}, {"reward": float("inf")}, {"values": (1.0, float("nan"))}])
def test_a2po_needs_every_reward(change):
    with pytest.raises(ValueError, match="rewards must be finite numbers"):
        run("a2po.run_a2po", prompts=valued(**change))


@pytest.mark.parametrize("name", LOOPS)
def test_no_rows_are_refused(name):
    drift = {"drift": []} if name == "sampled.run_sampled" else {}

    with pytest.raises(ValueError, match=r"got \[\]|hold \[\]|groups of \[\]|^0 rows|give a multiple|prompts need"):
        run(name, **{rows_of(name): [], **drift})


# Those that train on whole generations, and drop what does not fill one.
@pytest.mark.parametrize(
    "name", [n for n in LOOPS if n.split("_")[0].split(".")[0] in ("grpo", "rloo", "sampled", "entropy", "sdpo")]
)
def test_completions_that_do_not_fill_a_generation_are_refused(name):
    with pytest.raises(ValueError, match="2 completions do not fill generations of 4"):
        run(name, micro_batch=4)


@pytest.mark.parametrize(
    "name",
    [
        "distillation.run_distillation",
        "gkd.run_gold",
        "iw_opd.run_iw_opd",
        "iw_opd.run_iw_opd_jsd",
        "server_distillation.run_server_distillation",
        "sdft.run_sdft",
        "sdft.run_sdft_sampled",
    ],
)
def test_answers_that_do_not_fill_a_generation_are_refused(name):
    with pytest.raises(ValueError, match="2 completions do not fill generations of 3"):
        run(name, micro_batch=3)


CHOSEN = {
    "grpo.run_grpo": ["importance_sampling_level", "scale_rewards", "multi_objective_aggregation"],
    "sdpo.run_sdpo": ["importance_sampling_level", "teacher_model_kind"],
    "dpo.run_dpo": ["f_divergence_type"],
    "sampled.run_sampled": ["vllm_importance_sampling_mode"],
    "sdft.run_sdft": ["distillation_mode"],
}


@pytest.mark.parametrize(("name", "option"), [(name, option) for name, options in CHOSEN.items() for option in options])
def test_a_word_that_is_no_choice_of_an_option_is_named_with_those_that_are(name, option):
    choice = ", ".join(map(str, CHOICES[option]))
    with pytest.raises(ValueError, match=rf"^trl [\d.]+: \w+Config has no {option}='nothing': give one of {choice}$"):
        run(name, **{option: "nothing"})


@pytest.mark.parametrize("name", LOOPS)
def test_an_id_that_the_model_does_not_know_is_named(name):
    rows = [[3, 50]] if "sft" in name else [((3,), (50, 2))]
    rows = {"pairs": [((3,), (50,), (7,))], "triples": [((3,), (50,), (7,), (8,))]}.get(rows_of(name), rows)
    if name == "reward.run_reward":
        rows = [((3, 50), (5,))]
    if name == "kto.run_kto":
        rows = [((3,), (50,), True), ((5,), (6,), False)]
    if rows_of(name) == "groups":
        rows = groups(completions=((50, 2), (5, 6)))
    if rows_of(name) == "told":
        rows = told([((3,), (50, 2))])
    if rows_of(name) == "prompts":
        rows = valued(completion=(50, 2))

    with pytest.raises(ValueError, match=r"the row \[3, .*50.*\] holds the id 50, but the model knows 0 to 31"):
        run(name, micro_batch=2 if "groups" in LOOPS[name]() or "kto" in name else 1, **{rows_of(name): rows})


@pytest.mark.parametrize("module, name", [("cpo", "CPO"), ("gkd", "GKD"), ("sdft", "SDFT"), ("a2po", "A2PO")])
def test_a_trainer_that_has_moved_is_named_with_the_version(module, name, monkeypatch):
    home = importlib.import_module(f"trl.experimental.{module}")
    monkeypatch.delattr(home, f"{name}Trainer")
    loop = next(loop for loop in LOOPS if loop.endswith(f"run_{module}"))

    with pytest.raises(LookupError, match=rf"^trl \d+\.\d+\.\d+: no {name}Trainer in trl\.experimental\.{module}"):
        run(loop)


def test_a_student_whose_hidden_states_get_no_gradient_is_named(monkeypatch):
    trainer = experimental("gkd", "GKD")[0]
    monkeypatch.setattr(trainer, "train", lambda self: None)

    with pytest.raises(LookupError, match=r"^trl \d.*GKDTrainer brings no gradient to last_hidden_state"):
        run("gkd.run_gkd")


def test_a_bonus_without_its_hidden_states_is_named(monkeypatch):
    original = GRPOTrainer._compute_loss

    def _compute_loss(self, model, inputs):
        # As a head would that is handed the hidden states of another forward.
        model.base_model._forward_hooks.clear()
        return original(self, model, inputs)

    monkeypatch.setattr(GRPOTrainer, "_compute_loss", _compute_loss)
    with pytest.raises((LookupError, RuntimeError), match=r"last_hidden_state|nothing came to"):
        run("entropy_bonus.run_with_bonus", entropy_coef=0.1)


def test_a_trainer_that_runs_other_rows_is_named_with_the_version(monkeypatch):
    original = DPOTrainer._compute_loss

    def _compute_loss(self, model, inputs, return_outputs=False):
        return original(self, model, {**inputs, "input_ids": inputs["input_ids"].clamp(max=9)}, return_outputs)

    monkeypatch.setattr(DPOTrainer, "_compute_loss", _compute_loss)
    with pytest.raises(RuntimeError, match=r"none of the 4 that were given: trl \d+\.\d+\.\d+ is fed through another"):
        run("dpo.run_dpo")

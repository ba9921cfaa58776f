"""What the loops and checks of the trainers that learn from a teacher refuse, see and name."""

import functools
import importlib

import pytest
from trl import GRPOTrainer

from instrument import trl_checks
from instrument.loops.async_distillation import Worker, run_async_distillation
from instrument.loops.generation import generating
from instrument.loops.gkd import run_gkd, run_gold
from instrument.loops.groups import Group
from instrument.loops.reference_free import experimental
from instrument.loops.sampled import run_sampled
from instrument.loops.stand_in import StandIn
from instrument.objective_verdict import judge_objective
from instrument.tiny import tiny_policy

CHECKS = {name: run for name, _, run in trl_checks.trl_checks()}
ANSWERS = [((3,), (4, 2)), ((5,), (6, 2))]


@pytest.fixture(scope="module")
def gkd():
    return experimental("gkd", "GKD")[0]


@pytest.mark.parametrize("asked, followed", [("GKD, beta 1/4", 0.75), ("GKD, beta 0", 1.0)])
def test_another_divergence_is_a_fault_that_is_named(gkd, asked, followed, monkeypatch):
    original = gkd.generalized_jsd_loss

    def generalized_jsd_loss(*args, **options):
        return original(*args, **{**options, "beta": followed})

    monkeypatch.setattr(gkd, "generalized_jsd_loss", staticmethod(generalized_jsd_loss))
    measured, status, _ = judge_objective(CHECKS[asked](), [])

    assert status == "FAULT"
    assert f"it is that with beta = {followed:g} at temperature 1" in measured


def test_a_divergence_at_another_temperature_is_named(gkd, monkeypatch):
    original = gkd.generalized_jsd_loss
    monkeypatch.setattr(
        gkd, "generalized_jsd_loss", staticmethod(lambda *args, **options: original(*args, **options, temperature=2.0))
    )

    assert "beta = 0.25 at temperature 2" in CHECKS["GKD, beta 1/4"]().apart


def test_a_divergence_that_fits_nothing_is_a_fault_all_the_same(gkd, monkeypatch):
    original = gkd.generalized_jsd_loss

    def generalized_jsd_loss(student_logits, **options):
        return original(student_logits, **options) + 0.01 * student_logits.pow(2).sum()

    monkeypatch.setattr(gkd, "generalized_jsd_loss", staticmethod(generalized_jsd_loss))
    measured, status, _ = judge_objective(CHECKS["GKD, beta 1/4"](), [])

    assert status == "FAULT"
    assert measured.endswith("is not that of the divergence with beta = 0.25 at temperature 1")


@pytest.mark.parametrize(
    ("check", "seam", "change"),
    [
        ("SDFT", "sdft_trainer.compute_topk_self_distillation_loss", {"distillation_add_tail": True}),
        (
            "SDFT, all words, live teacher",
            "sdft_trainer.compute_full_logit_self_distillation_loss",
            {"distillation_alpha": 0.75},
        ),
    ],
)
def test_a_divergence_of_sdft_over_other_words_is_a_fault(check, seam, change, monkeypatch):
    experimental("sdft", "SDFT")
    path = f"trl.experimental.sdft.{seam}"
    original = getattr(importlib.import_module(path.rsplit(".", 1)[0]), path.rsplit(".", 1)[1])
    monkeypatch.setattr(path, lambda *args, **options: original(*args, **{**options, **change}))

    assert judge_objective(CHECKS[check](), [])[1] == "FAULT"


@pytest.mark.parametrize("check", ["SDPO", "SDPO mixed with grpo"])
@pytest.mark.parametrize(
    ("seam", "change"),
    [
        ("compute_sampled_token_self_distillation_loss", lambda loss, *args, **options: 1.01 * loss(*args, **options)),
        ("apply_importance_sampling_clipping", lambda loss, per_token, *args, **options: per_token),
    ],
)
def test_a_wrong_lesson_of_sdpo_is_a_fault(check, seam, change, monkeypatch):
    experimental("sdpo", "SDPO")
    module = importlib.import_module("trl.experimental.sdpo.sdpo_trainer")
    monkeypatch.setattr(module, seam, functools.partial(change, getattr(module, seam)))

    assert judge_objective(CHECKS[check](), [])[1] == "FAULT"


def test_a_wrong_policy_of_sdpo_is_a_fault_where_it_is_mixed_in(monkeypatch):
    kind, _ = experimental("sdpo", "SDPO")
    original = kind._compute_policy_loss
    monkeypatch.setattr(kind, "_compute_policy_loss", lambda self, *args: 1.01 * original(self, *args))

    assert judge_objective(CHECKS["SDPO mixed with grpo"](), [])[1] == "FAULT"


def test_a_teacher_that_follows_twice_as_fast_is_a_fault(monkeypatch):
    experimental("sdft", "SDFT")
    kind = importlib.import_module("trl.experimental.sdft.teacher_sync").SyncTeacherModelCallback
    original = kind.sync_target_model
    monkeypatch.setattr(kind, "sync_target_model", staticmethod(lambda model, to, rate: original(model, to, 2 * rate)))

    assert judge_objective(CHECKS["SDFT, all words, averaged teacher"](), [])[1] == "FAULT"


@pytest.mark.parametrize(
    ("check", "seam"),
    [
        ("Server distillation, beta 0", "server_distillation.server_distillation_trainer._jsd_divergence"),
        ("Server distillation, beta 1/4", "server_distillation.server_distillation_trainer._add_tail_bucket"),
        ("Async distillation, beta 0", "async_distillation.async_distillation_trainer._jsd_divergence"),
        ("Async distillation, beta 1", "async_distillation.async_distillation_trainer._add_tail_bucket"),
    ],
)
def test_a_divergence_of_what_a_server_tells_that_is_off_by_a_hundredth_is_a_fault(check, seam, monkeypatch):
    path = f"trl.experimental.{seam}"
    module, name = path.rsplit(".", 1)
    original = getattr(importlib.import_module(module), name)

    def louder(*args, **options):
        found = original(*args, **options)
        return (found[0] * 1.01, found[1]) if isinstance(found, tuple) else found * 1.01

    monkeypatch.setattr(path, louder)

    assert judge_objective(CHECKS[check](), [])[1] == "FAULT"


def test_answers_that_leave_a_step_half_full_are_refused():
    with pytest.raises(ValueError, match="a step takes 4 answers, got 2: give as many as fill all steps"):
        run_async_distillation(
            tiny_policy(32), tiny_policy(32, 1), ANSWERS, micro_batch=2, gradient_accumulation_steps=2
        )


def test_a_trainer_that_waits_for_more_than_was_given_is_stopped():
    with pytest.raises(RuntimeError, match="waits for more completions than were given"):
        Worker([]).check_health(300.0)


@pytest.mark.parametrize(
    ("check", "module", "name"),
    [
        ("Server distillation, beta 0", "trl.generation.vllm_client", "VLLMClient"),
        ("Async distillation, beta 0", "trl.experimental.async_distillation.async_rollout_worker", "RolloutSample"),
    ],
)
def test_a_part_that_moved_is_a_reason_not_to_run_that_names_it(check, module, name, monkeypatch):
    monkeypatch.delattr(importlib.import_module(module), name)
    measured, status, _ = judge_objective(trl_checks.or_reason(CHECKS[check]), [])

    assert status == "not run"
    assert measured.startswith("trl ")
    assert f"{module} has no {name}" in measured


def test_what_stood_in_is_gone_afterwards():
    module = importlib.import_module("trl.generation.vllm_client")
    original = module.VLLMClient

    with StandIn(module.__name__, "VLLMClient", None):
        assert module.VLLMClient is None
    assert module.VLLMClient is original


@pytest.mark.parametrize("run", [run_gkd, run_gold])
def test_a_completion_that_generation_would_not_end_is_refused(run):
    with pytest.raises(ValueError, match=r"the completion \[4\] of the prompt \[3\] has no end of sequence \(2\)"):
        run(tiny_policy(32), tiny_policy(32, 1), [((3,), (4,)), ((5,), (6, 2))], written=ANSWERS, micro_batch=1)


def test_a_completion_that_was_cut_off_has_the_largest_length():
    assert generating({(3,): [(4, 7)], (5,): [(2,)]})


@pytest.mark.parametrize("run", [run_gkd, run_gold])
def test_answers_given_twice_or_empty_are_refused(run):
    with pytest.raises(ValueError, match="answers need a prompt and a completion, no prompt twice"):
        run(tiny_policy(32), tiny_policy(32, 1), [*ANSWERS, ANSWERS[0]], micro_batch=1)


def test_a_correction_that_is_left_out_is_a_fault(monkeypatch):
    original = GRPOTrainer.__init__

    @functools.wraps(original)
    def __init__(self, *args, **options):
        original(self, *args, **options)
        self.vllm_importance_sampling_correction = False

    monkeypatch.setattr(GRPOTrainer, "__init__", __init__)

    assert judge_objective(CHECKS["Another sampler, token_truncate"](), [])[1] == "FAULT"


def test_a_drift_has_a_number_for_each_token():
    groups = [Group((3,), ((4, 2), (5, 6)), ((1.0,), (0.0,)))]

    with pytest.raises(ValueError, match=r"a number for each token of each completion, \[2, 2\]"):
        run_sampled(tiny_policy(32), groups, [[0.0], [0.0, 0.0]], micro_batch=2)

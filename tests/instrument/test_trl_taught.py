"""What the loops and checks of the trainers that learn from a teacher refuse, see and name."""

import functools
import importlib

import pytest
from trl import GRPOTrainer

from instrument import trl_checks
from instrument.loops.generation import generating
from instrument.loops.gkd import run_gkd, run_gold
from instrument.loops.groups import Group
from instrument.loops.reference_free import experimental
from instrument.loops.sampled import run_sampled
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


def test_a_teacher_that_follows_twice_as_fast_is_a_fault(monkeypatch):
    experimental("sdft", "SDFT")
    kind = importlib.import_module("trl.experimental.sdft.teacher_sync").SyncTeacherModelCallback
    original = kind.sync_target_model
    monkeypatch.setattr(kind, "sync_target_model", staticmethod(lambda model, to, rate: original(model, to, 2 * rate)))

    assert judge_objective(CHECKS["SDFT, all words, averaged teacher"](), [])[1] == "FAULT"


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

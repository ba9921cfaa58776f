"""What the loop and the checks of GOLD across tokenizers refuse and see."""

from importlib import import_module

import numpy as np
import pytest

from instrument import trl_checks
from instrument.loops import gold_across
from instrument.loops.gold_across import joined, run_gold_across, run_gold_sampled, spelled, tokenizer_of_letters
from instrument.objective_record import Spelled
from instrument.objective_universal import Across, push, unsure
from instrument.objective_verdict import judge_objective
from instrument.tiny import tiny_policy
from instrument.trl_across import MERGES

CHECKS = {name: run for name, _, run in trl_checks.trl_checks()}


@pytest.mark.parametrize("texts", [[("a", "")], [("a b", "c")], [("a", "É")]])
def test_a_text_of_other_than_lower_case_letters_is_refused(texts):
    with pytest.raises(ValueError, match="texts need a prompt and a completion in lower-case letters, got"):
        run_gold_across(tiny_policy(33), tiny_policy(35), MERGES, texts, micro_batch=1)


def test_two_texts_of_the_same_tokens_are_refused():
    with pytest.raises(ValueError, match="2 texts, but only 1 of them differ"):
        run_gold_across(tiny_policy(33), tiny_policy(35), MERGES, [("xy", "z"), ("x", "yz")], micro_batch=1)


def test_a_release_without_the_loss_is_named(monkeypatch):
    class Config:
        __dataclass_fields__ = ()

    monkeypatch.setattr(gold_across, "experimental", lambda *_: (None, Config))

    with pytest.raises(LookupError, match=r"trl \d.*: GOLDConfig knows no use_uld_loss"):
        run_gold_across(tiny_policy(33), tiny_policy(35), MERGES, [("x", "y")], micro_batch=1)


def sampled(texts, completions):
    return run_gold_sampled(tiny_policy(33), tiny_policy(35), MERGES, texts, completions, micro_batch=1)


def test_texts_and_completions_of_two_numbers_are_refused():
    with pytest.raises(ValueError, match="1 texts for 2 completions: give each text the ids"):
        sampled([("x", "y")], [[3, 2], [4, 2]])


def test_two_texts_of_one_prompt_are_refused():
    with pytest.raises(ValueError, match="2 texts, but only 1 of their prompts differ: give no prompt twice"):
        sampled([("x", "y"), ("x", "z")], [[3, 2], [4, 2]])


def test_a_generated_id_that_the_student_does_not_know_is_named():
    with pytest.raises(ValueError, match="holds the id 33, but the model knows 0 to 32"):
        sampled([("x", "y")], [[33, 2]])


def test_a_completion_that_neither_ends_nor_is_the_longest_is_refused():
    with pytest.raises(ValueError, match="has no end of sequence"):
        sampled([("x", "y"), ("z", "z")], [[3], [4, 2]])


def test_an_end_that_was_generated_is_as_long_as_its_name():
    tokenizer = tokenizer_of_letters(MERGES[0])

    assert spelled(tokenizer, [4], [31, 9, 2]) == ([4, 31, 9, 2], Spelled(1, [31, 9, 2], [4, 5, 8]))


@pytest.mark.parametrize(("end", "trained"), [(2, [0, 0, 1, 1, 0]), (5, [0, 0, 1, 1, 1])])
def test_only_an_end_of_sequence_is_skipped_as_one(end, trained):
    rng = np.random.default_rng(0)
    side = Spelled(3, [3, 4, end], [1, 2, 3])
    student, teacher = rng.normal(size=(2, 5, 7))

    unit, _ = push(student, teacher, side, side, Across("bayesian", ends_alone=True))
    np.testing.assert_array_equal(unit.any(axis=1), trained)


def test_a_token_across_the_seam_belongs_to_the_completion():
    ids, spelled = joined(tokenizer_of_letters(MERGES[0]), "xa", "bcd")

    assert len(ids) == 3
    assert spelled == Spelled(1, ids[1:], [3, 4])


def test_logits_behind_an_end_are_not_asked_for():
    side = Spelled(1, [3, 2], [1, 2])

    with pytest.raises(ValueError, match="the logits behind an end of sequence are not read"):
        push(np.zeros((2, 5)), np.zeros((2, 5)), side, side, Across(shifted=False, skip=(False, False)))


def test_a_sign_within_rounding_is_unsure():
    a, b = np.array([[0.5, 0.3, 0.2]]), np.array([[0.5 + 1e-9, 0.2, 0.3]])
    parts = np.full((1, 2), 1e-8)

    # The first is as far from the teacher's as both may be off, and no more than itself stands near it.
    np.testing.assert_array_equal(unsure(a, b, parts), [[1, 1, 1]])
    np.testing.assert_array_equal(unsure(a, np.array([[0.7, 0.2, 0.1]]), parts), [[0, 0, 0]])


def test_an_order_within_rounding_is_unsure():
    """Two words may change their ranks, at which the teacher is above the one and below the other."""
    a, b = np.array([[0.4, 0.4 - 1e-10, 0.2]]), np.array([[0.5, 0.3, 0.2 - 1e-3]])

    np.testing.assert_array_equal(unsure(a, b, np.full((1, 2), 1e-8)), [[1, 1, 0]])


def test_a_loss_that_is_off_by_a_hundredth_is_a_fault(monkeypatch):
    module = import_module("trl.experimental.gold.gold_trainer")
    original = module.ULDLoss.__call__
    monkeypatch.setattr(module.ULDLoss, "__call__", lambda *args, **options: 1.01 * original(*args, **options))

    assert judge_objective(CHECKS["GOLD across tokenizers"](), [])[1] == "FAULT"


def test_words_that_meet_elsewhere_are_a_fault(monkeypatch):
    module = import_module("trl.experimental.gold.gold_trainer")
    original = module.ULDLoss._align_by_byte_offsets

    def _align_by_byte_offsets(student, teacher):
        groups = original(student, teacher)
        return [[[place for group in side[:2] for place in group], *side[2:]] for side in groups]

    monkeypatch.setattr(module.ULDLoss, "_align_by_byte_offsets", staticmethod(_align_by_byte_offsets))
    measured, status, _ = judge_objective(CHECKS["GOLD across tokenizers, bayesian"](), [])

    assert status == "FAULT"
    assert "the gradient is not that of the loss across tokenizers" in measured

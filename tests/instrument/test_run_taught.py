"""A student is held against the divergence from its own teacher, on the batches of the script itself."""

import json

import numpy as np
import pytest
from accelerate import Accelerator

from faults import CATALOGUE, planted
from instrument.run import student
from tests.instrument.scripts import EXAMPLES, run, script

# What these scripts do is theirs, as in a process of their own: libraries warn of their own names.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("fresh_accelerate")]


def edited(old, new):
    text = (EXAMPLES / "distillation.py").read_text()
    assert old in text
    return text.replace(old, new)


def told(tmp_path, file, trainer="distillation"):
    result = run("--stop", "--json", tmp_path / "run.json", file, "--trainer", trainer)
    return {**json.loads((tmp_path / "run.json").read_text()), "exit": result.exit_code}


def weights(found):
    """w*N of every trained token of the first window."""
    rows = found["windows"][0]["rows"]
    each = [w for row in rows for w, s in zip(row["weight"], row["scored"]) if s]
    return np.array(each) * len(each)


@pytest.mark.parametrize(
    ("trainer", "name", "form"),
    [
        ("distillation", "DistillationTrainer", "token mean, w = 1/N"),
        ("gkd", "GKDTrainer", "token mean, w = 1/N"),
        ("sdft", "SDFTTrainer", "per-sequence mean over all rows, w = 1/(B n_b)"),
    ],
)
def test_a_student_weighs_what_its_trainer_documents(trainer, name, form, tmp_path):
    found = told(tmp_path, EXAMPLES / "distillation.py", trainer)

    assert f"OK: every token weighs what {name} documents, in the divergence from its teacher: {form}" == found["said"]
    assert 0 == found["exit"]
    if trainer != "sdft":
        np.testing.assert_allclose(weights(found), 1, rtol=1e-3)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("distilled_by_micro_batch", "sum-of-micro-batch-means"),
        ("distilled_count_repeated", "divided-twice"),
        ("distilled_by_rows", "scaled"),
        ("distilled_over_vocabulary", "scaled"),
        ("teacher_taught_itself", "unknown-formula"),
    ],
)
def test_a_planted_fault_of_distillation_is_named(fault, code, tmp_path):
    with planted(CATALOGUE[fault]) as hits:
        found = told(tmp_path, EXAMPLES / "distillation.py")

    assert hits.count
    assert code == found["code"]
    assert 1 == found["exit"]
    # What is wrong is the loss, whatever a clip behind it makes of it.
    assert not {"clipped-wrongly", "gradient-rescaled"} & {finding["code"] for finding in found["findings"]}


@pytest.mark.parametrize("trainer", ["gkd", "sdft"])
def test_a_loss_that_is_a_twentieth_too_large_is_named(trainer, tmp_path, monkeypatch):
    backward = Accelerator.backward
    monkeypatch.setattr(Accelerator, "backward", lambda self, loss, **more: backward(self, loss * 1.05, **more))

    found = told(tmp_path, EXAMPLES / "distillation.py", trainer)

    assert found["code"] in ("scaled", "unknown-formula")
    assert 1 == found["exit"]


def test_answers_that_the_student_gave_are_divided_by_the_tokens_of_the_written_ones(tmp_path):
    """GKDTrainer counts before it generates; see docs/findings.md."""
    found = told(tmp_path, script(edited("lmbda=0.0", "lmbda=1.0")), "gkd")

    assert "scaled" == found["code"]
    assert any("the trainer divides by its num_items_in_batch" in finding["said"] for finding in found["findings"])


def test_another_divergence_than_the_configured_one_is_named(tmp_path):
    text = edited("    trainer.train()", "    trainer.beta = 0.1\n    trainer.train()").replace(
        "beta=0.5),", "beta=0.9),"
    )

    found = told(tmp_path, script(text))

    assert "other-divergence" == found["code"]
    assert "beta = 0.9 at temperature 1; it is that with beta = 0.1 at temperature 1" in found["said"]


def test_half_precision_is_refused_with_what_to_do(tmp_path):
    found = told(tmp_path, script(edited('"bf16": False,', '"bf16": True,')))

    assert "NO VERDICT" in found["said"]
    assert "runs in bfloat16, in which no token of a student can be told to a tenth" in found["said"]
    assert 0 == found["exit"]


def test_more_probabilities_than_can_be_compared_are_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(student, "MOST", 100)

    found = told(tmp_path, EXAMPLES / "distillation.py")

    assert "NO VERDICT" in found["said"]
    assert "probabilities in one micro-batch" in found["said"]
    assert "fewer rows in a micro-batch or shorter answers" in found["said"]
    assert 0 == found["exit"]


def test_places_that_are_read_in_parts_give_the_same(tmp_path, monkeypatch):
    whole = told(tmp_path, EXAMPLES / "distillation.py", "gkd")
    monkeypatch.setattr(student, "AT_ONCE", 100)

    parts = told(tmp_path, EXAMPLES / "distillation.py", "gkd")

    np.testing.assert_allclose(weights(parts), weights(whole), rtol=1e-9)

"""Losses that are no token mean are held against their own closed form, on the batches of the script itself."""

import json
from contextlib import nullcontext

import pytest
from accelerate import Accelerator

from faults import CATALOGUE, planted
from tests.instrument.scripts import EXAMPLES, run, script

# What these scripts do is theirs, as in a process of their own: libraries warn of their own names.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("fresh_accelerate")]

SCRIPTS = {
    "kto": ("preference.py", "--objective", "kto"),
    "cpo": ("preference.py", "--objective", "cpo"),
    "simpo": ("preference.py", "--objective", "simpo"),
    "orpo": ("preference.py", "--objective", "orpo"),
    "online_dpo": ("preference.py", "--objective", "online_dpo", "--accumulation", "1"),
    "reward": ("preference.py", "--objective", "reward"),
    "gmpo": ("grpo.py", "--gmpo"),
}


def told(tmp_path, script, *words):
    file, *arguments = SCRIPTS[script]
    result = run("--stop", "--json", tmp_path / "run.json", EXAMPLES / file, *arguments, *words)
    return {**json.loads((tmp_path / "run.json").read_text()), "exit": result.exit_code}


@pytest.mark.parametrize(
    ("script", "verdict"),
    [
        ("kto", "KTOTrainer documents (kto)"),
        ("cpo", "CPOTrainer documents (sigmoid)"),
        ("simpo", "CPOTrainer documents (simpo)"),
        ("orpo", "ORPOTrainer documents"),
        ("online_dpo", "OnlineDPOTrainer documents (sigmoid)"),
        ("gmpo", "GMPOTrainer documents"),
        ("reward", "RewardTrainer documents"),
    ],
)
def test_a_loss_is_what_its_trainer_documents(script, verdict, tmp_path):
    found = told(tmp_path, script)

    assert f"OK: every {'reward' if script == 'reward' else 'target'} weighs what {verdict}" == found["said"]
    assert 0 == found["exit"]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (script, {"gmpo": "policy-weights", "reward": "reward-weights"}.get(script, "preference-weights"))
        for script in SCRIPTS
    ],
)
def test_a_loss_that_is_a_twentieth_too_large_is_named(script, code, tmp_path, monkeypatch):
    backward = Accelerator.backward
    monkeypatch.setattr(Accelerator, "backward", lambda self, loss, **more: backward(self, loss * 1.05, **more))

    found = told(tmp_path, script)

    assert code == found["code"]
    assert "1.05" in found["said"]
    assert 1 == found["exit"]


@pytest.mark.parametrize(("script", "fault"), [("kto", "unpaired_added_up"), ("simpo", "answers_beside_simpo")])
def test_a_planted_fault_of_a_preference_loss_is_named(script, fault, tmp_path):
    with planted(CATALOGUE[fault]) as hits:
        found = told(tmp_path, script)

    assert hits.count
    assert "preference-weights" == found["code"]


def test_micro_batches_that_are_added_up_are_named_in_online_dpo(tmp_path):
    found = told(tmp_path, "online_dpo", "--accumulation", "2")

    assert "preference-weights" == found["code"]
    assert "times as much (OnlineDPOTrainer, sigmoid)" in found["said"]


DPO = (
    (EXAMPLES / "dpo_lora.py").read_text().replace("beta=0.3,", "beta=0.3,\n            precompute_ref_log_probs=True,")
)
KTO = (
    (EXAMPLES / "preference.py")
    .read_text()
    .replace("KTOConfig(**settings)", "KTOConfig(**settings, precompute_ref_log_probs=True)")
)


@pytest.mark.parametrize(
    ("text", "fault", "said"),
    [
        (DPO, "", "OK: every target weighs what DPOTrainer documents (sigmoid)"),
        (DPO, "pairs_added_up", "2 times as much (DPOTrainer, sigmoid)"),
        (KTO, "", "OK: every target weighs what KTOTrainer documents (kto)"),
        (KTO, "unpaired_added_up", "2 times as much (KTOTrainer, kto)"),
    ],
    ids=["dpo", "dpo-added", "kto", "kto-added"],
)
def test_a_reference_that_was_asked_beforehand_is_taken_from_the_batch(text, fault, said, tmp_path):
    with planted(CATALOGUE[fault]) if fault else nullcontext() as hits:
        result = run("--stop", "--json", tmp_path / "run.json", script(text))

    found = json.loads((tmp_path / "run.json").read_text())
    assert "precompute_ref_log_probs=True" in text
    assert said in found["said"]
    assert not fault or hits.count
    assert bool(fault) == result.exit_code

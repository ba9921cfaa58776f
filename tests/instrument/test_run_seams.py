"""What `weighbridge run` says of a loss, an option or a seam of another release of TRL, or of a script that dies."""

import json

import pytest
from trl import GRPOConfig, GRPOTrainer, KTOTrainer

from tests.instrument.scripts import EXAMPLES, run, script

# What these scripts do is theirs, as in a process of their own: libraries warn of their own names.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("fresh_accelerate")]

GRPO, PREFERENCE = ((EXAMPLES / name).read_text() for name in ("grpo.py", "preference.py"))
KTO = PREFERENCE.replace("KTOConfig(**settings)", 'KTOConfig(**settings, loss_type="nope")')


def told(tmp_path, text, *words):
    """Exit status, and the verdict of the script in words."""
    result = run("--stop", "--json", tmp_path / "run.json", script(text), *words)
    found = json.loads((tmp_path / "run.json").read_text())
    return result.exit_code, found["said"], [finding["said"] for finding in found.get("findings", [])]


def renamed(function):
    """The same function by another name in its frame, as where a release has moved its loss."""
    original = function.__code__
    function.__code__ = original.replace(co_name="_loss")
    return lambda: setattr(function, "__code__", original)


def test_a_loss_of_another_release_is_not_judged(tmp_path, monkeypatch):
    original = GRPOTrainer._compute_loss

    def _compute_loss(self, model, inputs):
        monkeypatch.setattr(self, "loss_type", "grpo")
        return original(self, model, inputs)

    # TRL's own, as far as can be told: a method of the script's class would be named as such.
    monkeypatch.setattr(GRPOTrainer, "_compute_loss", _compute_loss)
    status, said, _ = told(tmp_path, GRPO.replace('output_dir="out",', 'output_dir="out", loss_type="newer",'))

    assert said == "NOT JUDGED: GRPOTrainer with loss_type='newer' has no closed form here"
    assert status == 0


def test_an_option_that_a_release_has_not_got_is_named(tmp_path, monkeypatch):
    monkeypatch.delattr(GRPOConfig, "vespo_k_pos")
    text = GRPO.replace("    trainer.train()", '    vars(trainer.args).pop("vespo_k_pos")\n    trainer.train()')
    status, said, found = told(tmp_path, text)

    assert "NOT JUDGED" in said
    assert any("GRPOTrainer (trl 1." in one and "its GRPOConfig has no vespo_k_pos" in one for one in (said, *found))
    assert status == 0


@pytest.mark.parametrize(
    ("trainer", "text", "words", "missing"),
    [
        (GRPOTrainer, GRPO, (), "no advantages stood in the inputs of _compute_loss"),
        (KTOTrainer, PREFERENCE, ("--objective", "kto"), "_compute_loss"),
    ],
)
def test_a_loss_that_has_moved_is_not_judged_and_its_seam_is_named(trainer, text, words, missing, tmp_path):
    back = renamed(trainer._compute_loss)
    try:
        status, said, found = told(tmp_path, text, *words)
    finally:
        back()

    assert "NOT JUDGED" in said
    assert any(f"{trainer.__name__} (trl 1." in one and missing in one for one in (said, *found))
    assert status == 0


@pytest.mark.parametrize(
    ("text", "words", "error"),
    [
        (GRPO.replace('output_dir="out",', 'output_dir="out", loss_type="nope",'), (), "ValueError"),
        (GRPO.replace("for text in completions]", "for text in completions][:-1]"), (), "ValueError"),
        (GRPO.replace("num_generations=4", "num_generations=3"), (), "ValueError"),
        (KTO, ("kto",), "UnboundLocal"),
    ],
    ids=["unknown loss", "rewards of another number", "group that does not divide", "unknown loss of KTO"],
)
def test_a_script_that_its_trainer_refuses_has_no_verdict_and_the_error_is_named(text, words, error, tmp_path):
    status, said, _ = told(tmp_path, text, *(("--objective", *words) if words else ()))

    assert said.startswith(f"NO VERDICT: the script failed with {error}")
    assert status == 1

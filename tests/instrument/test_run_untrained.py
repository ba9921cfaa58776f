"""A script whose optimizer holds nothing that trains is told so; a tokenizer that is not there costs no verdict."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.instrument.scripts import LOOP, run, script

SCHEMA = Path(__file__).parents[2] / "docs" / "schema.json"
ADAPTED = """
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    for step in"""


# PEFT asks a model for gradient checkpointing by its old name.
@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning")
@pytest.mark.parametrize(
    ("step", "status", "said"),
    [
        ("optimizer.step()", 1, "FAULT [not-in-optimizer] 4 of 4 trainable parameters are in no group of the"),
        ("pass", 0, "NO VERDICT: PeftModelForCausalLM ran with gradients on, but no torch optimizer holds a parameter"),
    ],
    ids=["stepped", "never stepped"],
)
def test_an_optimizer_that_was_made_before_the_adapters_trains_nothing(tmp_path, step, status, said):
    text = LOOP.replace("\n    for step in", ADAPTED).replace("optimizer.step()", step)

    result = run("--json", tmp_path / "run.json", "--html", tmp_path / "run.html", script(text))

    assert f"weighbridge: {said}" in result.stderr
    assert status == result.exit_code
    jsonschema.validate(json.loads((tmp_path / "run.json").read_text()), json.loads(SCHEMA.read_text()))
    assert said.partition(" ")[0] in (tmp_path / "run.html").read_text()


def test_a_tokenizer_that_cannot_be_loaded_costs_no_verdict(tmp_path):
    result = run("--tokenizer", tmp_path, script(LOOP))

    assert "FAULT [mean-of-micro-batch-means]" in result.stderr
    assert f"--tokenizer {tmp_path} cannot be loaded" in result.stderr
    assert "Traceback" not in result.stderr

"""The scripts in examples/ get the right verdict without a change to them, and a planted fault is named."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from accelerate.state import AcceleratorState

from faults import CATALOGUE, planted
from tests.instrument.scripts import EXAMPLES, alone, run

# What these scripts do is theirs, as in a process of their own: libraries warn of their own names.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("fresh_accelerate")]

SCHEMA = Path(__file__).parents[2] / "docs" / "schema.json"


@pytest.mark.parametrize(
    ("name", "words", "verdict"),
    [
        ("run_clm", [], "OK: every target weighs the same: token mean, w = 1/N"),
        ("run_clm", ["--block_size", "16"], "OK: every target weighs the same: token mean, w = 1/N"),
        ("sft_packing", [], "OK: every target weighs the same: token mean, w = 1/N"),
        ("dpo_lora", [], "OK: every target weighs what DPOTrainer documents (sigmoid)"),
        ("grpo", [], "OK: every target weighs what GRPOTrainer documents (dapo)"),
        ("distillation", [], "OK: every token weighs what DistillationTrainer documents"),
        ("accelerate_loop", [], "OK: every target weighs the same: token mean, w = 1/N"),
        ("accelerate_loop", ["--mean-of-means"], "FAULT [mean-of-micro-batch-means]"),
        ("classification", [], "FAULT [sum-of-micro-batch-means]"),
        ("classification", ["--accumulation", "1"], "OK: every target weighs the same: token mean, w = 1/N"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "-".join(value).strip("-")[:20],
)
def test_an_example_gets_its_verdict(name, words, verdict, tmp_path):
    result = run("--stop", "--json", tmp_path / "run.json", EXAMPLES / f"{name}.py", *words)

    told = json.loads((tmp_path / "run.json").read_text())
    jsonschema.validate(told, json.loads(SCHEMA.read_text()))
    assert told["said"].startswith(verdict), result.stderr
    assert int(verdict.startswith("FAULT")) == result.exit_code
    assert [] == [finding for finding in told["findings"] if finding["level"] == "warning"]


@pytest.mark.parametrize(
    ("name", "fault", "code"),
    [
        ("run_clm", "mean_of_micro_batch_means", "mean-of-micro-batch-means"),
        ("run_clm", "eos_targets_dropped", "eos-never-trained"),
        ("sft_packing", "count_ignored_by_fused_loss", "sum-of-micro-batch-means"),
        ("dpo_lora", "pairs_added_up", "preference-weights"),
        ("grpo", "window_divided_again", "policy-weights"),
        ("grpo", "completions_averaged", "policy-weights"),
        ("distillation", "distilled_by_micro_batch", "sum-of-micro-batch-means"),
        ("accelerate_loop", "count_ignored_by_loss", "sum-of-micro-batch-means"),
        ("accelerate_loop", "last_micro_batch_only", "gradient-lost"),
        ("classification", "summed_not_averaged", "token-sum"),
    ],
)
def test_a_planted_fault_is_named(name, fault, code, tmp_path):
    with planted(CATALOGUE[fault]) as hits:
        run("--stop", "--json", tmp_path / "run.json", EXAMPLES / f"{name}.py")

    told = json.loads((tmp_path / "run.json").read_text())
    assert hits.count
    assert code in [finding["code"] for finding in told["findings"]]
    assert (code == told["code"]) is (code != "eos-never-trained")


@pytest.mark.parametrize(
    "name", ["run_clm", "sft_packing", "dpo_lora", "grpo", "distillation", "accelerate_loop", "classification"]
)
def test_an_example_prints_what_it_prints_alone(name):
    mine = alone(EXAMPLES / f"{name}.py")
    AcceleratorState._reset_state(reset_partial_state=True)

    # Times are what no two runs share.
    assert timeless(mine) == timeless(run(EXAMPLES / f"{name}.py").stdout)


def timeless(text):
    """Without the seconds that a trainer prints."""
    return re.sub(r"'[a-z_/]*(runtime|per_second|time)[a-z_/]*': '?[\d.e+-]+'?", "", text)


def test_targets_of_a_classifier_are_told_as_classes(tmp_path):
    result = run("--stop", "--json", tmp_path / "run.json", EXAMPLES / "classification.py")

    told = json.loads((tmp_path / "run.json").read_text())
    jsonschema.validate(told, json.loads(SCHEMA.read_text()))
    assert "classes" == told["ids_are"]
    assert all(re.fullmatch("label class [012]", row["text"]) for row in told["windows"][0]["rows"])
    assert re.search(r"w\*N: \[4\] 'class [012]' \n", result.stderr)


@pytest.mark.spawn
@pytest.mark.parametrize(
    ("words", "fault", "status", "verdict"),
    [
        (["ddp.py"], "", 0, "OK: every target weighs the same: token mean, w = 1/N"),
        (["ddp.py", "--mean-of-means"], "", 1, "FAULT [mean-of-rank-means]"),
        (["ddp.py"], "forward_bypasses_ddp", 1, "FAULT [ranks-differ] the 2 ranks hold"),
        (["fsdp.py"], "", 0, "OK: every target weighs the same: token mean, w = 1/N"),
        (["fsdp.py", "--fsdp1", "--clip-parts"], "", 1, "FAULT [clipped-wrongly] the ranks multiplied their parts"),
        (["fsdp.py", "--fsdp1", "--bf16"], "", 0, "OK: every target weighs the same: token mean, w = 1/N"),
        (["dpo_lora.py"], "", 0, "OK: every target weighs what DPOTrainer documents (sigmoid)"),
        (["dpo_lora.py"], "pairs_added_up", 1, "FAULT [preference-weights] rank 0: "),
        (["grpo.py"], "", 0, "OK: every target weighs what GRPOTrainer documents (dapo)"),
        (["grpo.py"], "window_divided_again", 1, "FAULT [policy-weights] rank 0: "),
        (["preference.py", "--objective", "kto"], "", 0, "OK: every target weighs what KTOTrainer documents (kto)"),
        (["distillation.py"], "", 0, "OK: every token weighs what DistillationTrainer documents"),
        (["distillation.py"], "distilled_by_micro_batch", 1, "FAULT [sum-of-micro-batch-means]"),
        # It divides by the answers of all ranks, of which each has a part: see docs/findings.md.
        (["distillation.py", "--trainer", "gkd"], "", 1, "FAULT [divided-twice]"),
        (["distillation.py", "--trainer", "sdft"], "", 0, "OK: every token weighs what SDFTTrainer documents"),
    ],
)
def test_two_ranks_get_one_verdict(words, fault, status, verdict, tmp_path):
    ended = on_two_ranks(words, fault, tmp_path)

    assert 1 == ended.stderr.count("weighbridge: ")
    assert f"weighbridge: {verdict}" in ended.stderr
    assert "all 2 ranks" in ended.stderr
    assert "what follows backward was not measured" not in ended.stderr
    assert status == ended.returncode


@pytest.mark.spawn
def test_a_layout_of_shards_that_is_not_put_together_leaves_the_weights(tmp_path):
    ended = on_two_ranks(["fsdp.py", "--replicas", "2"], "", tmp_path)

    assert "weighbridge: OK: every target weighs the same: token mean, w = 1/N" in ended.stderr
    assert "what follows backward was not measured: a parameter is laid out as [Replicate(), Shard(" in ended.stderr


def on_two_ranks(words, fault, tmp_path):
    """An example under `weighbridge run` on two ranks, as torchrun starts them."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python"]
    free = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--nnodes", "1"]
    with_fault = [sys.executable, "-m", "faults", "run", fault, "--"] if fault else []
    command = [sys.executable, "-m", "instrument.cli", "run", "--stop", "--records", str(tmp_path / "records")]
    return subprocess.run(
        [*with_fault, *launcher[:3], *free, *launcher[3:], *command, str(EXAMPLES / words[0]), *words[1:]],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "GLOO_SOCKET_IFNAME": "lo"},
    )


@pytest.mark.spawn
def test_accelerate_launches_ranks_of_which_one_tells_and_writes(tmp_path):
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    plain = ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    files = ["--json", str(tmp_path / "run.json"), "--html", str(tmp_path / "run.html")]
    command = ["-m", "instrument.cli", "run", "--stop", "--records", str(tmp_path / "records"), *files]
    ended = subprocess.run(
        [*launcher, *plain, *command, str(EXAMPLES / "ddp.py"), "--mean-of-means"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "GLOO_SOCKET_IFNAME": "lo"},
    )

    told = json.loads((tmp_path / "run.json").read_text())
    jsonschema.validate(told, json.loads(SCHEMA.read_text()))
    assert 1 == ended.stderr.count("weighbridge: ")
    assert ("mean-of-rank-means", 2) == (told["code"], told["ranks"])
    assert "mean-of-rank-means" in (tmp_path / "run.html").read_text()
    assert ended.returncode


@pytest.mark.spawn
def test_a_fault_that_is_planted_into_the_command_is_named(tmp_path):
    words = ["--stop", "--json", str(tmp_path / "run.json"), str(EXAMPLES / "accelerate_loop.py")]
    command = ["run", "count_ignored_by_loss", "--", sys.executable, "-m", "instrument.cli", "run", *words]
    ended = subprocess.run(
        [sys.executable, "-m", "faults", *command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
    )

    assert 1 == ended.returncode
    assert "sum-of-micro-batch-means" == json.loads((tmp_path / "run.json").read_text())["code"]
    assert "was called" in ended.stderr

"""`weighbridge run`: the script is what it is without it, and its verdict stands behind what it says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.optim import optimizer as optimizers

from instrument.run.late import WhenImported
from tests.instrument.scripts import LOOP, alone, run, script

pytestmark = pytest.mark.usefixtures("torch_is_left_alone")


@pytest.fixture
def torch_is_left_alone():
    """What is patched while a model is looked for is as it was."""
    before = nn.Module.__call__, optimizers.Optimizer.__init__, len(optimizers._global_optimizer_post_hooks)
    yield
    after = nn.Module.__call__, optimizers.Optimizer.__init__, len(optimizers._global_optimizer_post_hooks)

    assert before == after
    assert not any(isinstance(finder, WhenImported) for finder in sys.meta_path)
    assert not optimizers._global_optimizer_pre_hooks


def in_a_process(*words):
    """The command in a process of its own."""
    program = "from instrument.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program, "run", *words], capture_output=True, text=True)


def test_a_fault_is_named_and_ends_with_status_1():
    result = run(script(LOOP))

    assert result.exit_code == 1
    assert result.stderr.startswith("weighbridge: FAULT [mean-of-micro-batch-means] token weights follow the mean of")
    assert "stage: loss; in windows 0, 1 of 2" in result.stderr
    assert "docs/verdicts.md#mean-of-micro-batch-means" in result.stderr


def test_the_run_is_bitwise_what_it_is_alone():
    name = script(LOOP)

    assert alone(name) == run(name).stdout


def test_a_right_loop_is_ok_and_ends_with_status_0():
    result = run(script(LOOP.replace("(4, 8)", "(6, 6)")))

    assert result.exit_code == 0
    assert result.stderr.startswith("weighbridge: OK: every target weighs the same: token mean, w = 1/N\n")


def test_no_hook_is_left_behind_the_recorded_windows():
    look = """
        print(bool(model.model._forward_hooks), bool(model._forward_pre_hooks), type(model).__call__.__qualname__)
    """
    text = LOOP.replace('    print("step", step)', look.strip().join(["    ", ""]))

    lines = run("--windows", 2, script(text)).stdout.splitlines()

    # The patch itself is taken off at the next call of a module, which is that of the third step.
    assert lines[0].startswith("True True ")
    assert lines[2:4] == ["False False Module._wrapped_call_impl"] * 2


def test_stop_ends_the_script_behind_the_recorded_windows():
    result = run("--stop", "--windows", 1, script(LOOP.replace("(4, 8)", "(6, 6)")))

    assert result.exit_code == 0
    assert result.stdout == ""
    assert "stopped after 1 optimizer step, as --stop asks" in result.stderr


def test_a_script_that_catches_everything_runs_on_and_it_is_said():
    text = LOOP.replace("        optimizer.step()", "        try: optimizer.step()\n        except BaseException: pass")

    result = run("--stop", script(text))

    assert "step 3" in result.stdout
    assert "caught what was raised to stop it" in result.stderr


def test_arguments_are_the_scripts_own():
    name = script(LOOP + "    print(sys.argv, sys.path[0])\n")

    told = run(name, "--lr", "3", "--windows", "x", "-m").stdout.splitlines()[-1]

    assert f"['train.py', '--lr', '3', '--windows', 'x', '-m'] {Path.cwd()}" == told


def test_a_module_runs_as_with_python_m():
    script("import sys\nprint(__name__, sys.argv[1:], sys.argv[0], sys.path[0])", "mine.py")

    told = run("-m", "mine", "-x").stdout

    assert f"__main__ ['-x'] {Path.cwd() / 'mine.py'} {Path.cwd()}\n" == told


@pytest.mark.parametrize(("code", "status"), [("3", 3), ("None", 0), ("'gone wrong'", 1)])
def test_the_scripts_own_exit_status_is_kept(code, status):
    result = run(script(f"import sys\nsys.exit({code})"))

    assert status == result.exit_code
    assert f"weighbridge: NO VERDICT: the script left with exit status {status}" in result.stderr


def test_an_exception_keeps_its_traceback_without_our_frames():
    result = run(script(LOOP + "    raise OSError('disk is full')\n"))

    assert result.exit_code == 1
    # The loop was faulty, and the verdict on what was measured is told behind the traceback.
    assert result.stderr.index("OSError: disk is full") < result.stderr.index("weighbridge: FAULT")
    assert "instrument" not in result.stderr[: result.stderr.index("OSError")]
    assert 'train.py", line ' in result.stderr


def test_a_half_recorded_window_gives_no_verdict():
    result = run(script(LOOP.replace("optimizer.step()", "sys.exit()")))

    assert result.exit_code == 0
    assert "NO VERDICT: the script left with exit status 0 before an optimizer step ended the first window" in (
        result.stderr
    )


def test_of_several_windows_the_half_recorded_one_is_thrown_away(tmp_path):
    text = LOOP.replace("            ids =", "            if step == 1 and n == 8: sys.exit()\n            ids =")

    result = run("--json", tmp_path / "run.json", script(text))

    assert 1 == len(json.loads((tmp_path / "run.json").read_text())["windows"])
    assert "a half-recorded window, which no optimizer step ended, was thrown away" in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print(1)", "NO VERDICT: the script ended without an optimizer: it trains nothing in this process"),
        (
            "import torch\nnet = torch.nn.Linear(2, 2)\nnet(torch.ones(1, 2)).sum().backward()",
            "NO VERDICT: Linear ran with gradients on, but no torch optimizer holds a parameter of it",
        ),
        (
            "import torch\nnet = torch.nn.Linear(2, 2)\no = torch.optim.SGD(net.parameters())\n"
            "net(torch.ones(1, 2)).sum().backward()",
            "NO VERDICT: Linear: Linear is no causal model of transformers",
        ),
        (
            "import torch\nnet = torch.nn.Linear(2, 2)\no = torch.optim.SGD(net.parameters())\no.step()",
            "NO VERDICT: the script ended without running a model with gradients on",
        ),
    ],
    ids=["nothing", "no optimizer", "no causal model", "no forward"],
)
def test_a_script_that_cannot_be_measured_is_told_why(text, said):
    result = run(script(text))

    assert result.exit_code == 0
    assert said in result.stderr


def test_of_two_models_the_one_that_an_optimizer_holds_is_measured():
    text = LOOP.replace(
        "    optimizer =", "    other = type('Teacher', (LlamaForCausalLM,), {})(model.config)\n    optimizer ="
    ).replace("            (model", "            other(input_ids=ids)\n            (model")

    result = run(script(text))

    assert "measured: LlamaForCausalLM" in result.stderr
    assert "FAULT [mean-of-micro-batch-means]" in result.stderr


def test_a_second_trained_model_is_named_and_not_measured():
    text = LOOP.replace(
        "    optimizer = torch.optim.AdamW(model.parameters()",
        "    other = type('Student', (LlamaForCausalLM,), {})(model.config)\n"
        "    optimizer = torch.optim.AdamW([*model.parameters(), *other.parameters()]",
    ).replace("        optimizer.step", "        other(input_ids=ids)\n        optimizer.step")

    result = run(script(text))

    assert "chosen: LlamaForCausalLM" in result.stderr
    assert "Student was trained too and not measured" in result.stderr


def test_a_model_inside_another_module_is_found():
    text = LOOP.replace(
        "    optimizer =",
        "    class Outer(torch.nn.Module):\n"
        "        def __init__(self, inner):\n            super().__init__()\n            self.inner = inner\n"
        "        def forward(self, ids):\n            return self.inner(input_ids=ids, labels=ids).loss\n"
        "    outer = Outer(model)\n    optimizer =",
    ).replace("model(input_ids=ids, labels=ids).loss", "outer(ids)", 1)
    text = text.replace("return outer(ids)", "return self.inner(input_ids=ids, labels=ids).loss").replace(
        "(model(input_ids=ids, labels=ids).loss / 2)", "(outer(ids) / 2)"
    )

    assert "FAULT [mean-of-micro-batch-means]" in run(script(text)).stderr


def test_a_first_step_whose_forward_was_before_the_optimizer_is_left_out():
    text = LOOP.replace("    optimizer =", "    model(input_ids=torch.ones(1, 3, dtype=torch.long))\n    optimizer =")

    result = run("--windows", 1, script(text))

    assert "FAULT [mean-of-micro-batch-means]" in result.stderr
    assert "the first step was not seen whole" in result.stderr


@pytest.mark.spawn
def test_a_forked_child_tells_nothing():
    text = LOOP + "    import os\n    if os.fork() == 0: sys.exit(5)\n    print('child', os.wait()[1] >> 8)\n"

    told = in_a_process(script(text))

    assert 1 == told.stderr.count("weighbridge:")
    assert "child 5" in told.stdout


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        (["none"], 0),
        (["any"], 1),
        (["mean-of-micro-batch-means"], 1),
        (["token-sum"], 0),
        (["token-sum", "mean-of-micro-batch-means"], 1),
    ],
)
def test_what_fails_is_chosen_by_code(kinds, status):
    options = [word for kind in kinds for word in ("--fail-on", kind)]

    assert status == run(*options, script(LOOP)).exit_code


def test_no_verdict_can_be_made_a_failure():
    assert 1 == run("--fail-on", "no-verdict", script("print(1)")).exit_code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fail-on", "nonsense", "train.py"], "--fail-on nonsense: the kinds are unreadable"),
        (["nowhere.py"], "nowhere.py is no file"),
        (["--json", "no/where.json", "train.py"], "name a file in a folder that is there"),
        ([], "Missing argument"),
    ],
)
def test_bad_words_are_refused_before_anything_runs(words, said):
    script("print('ran')")

    result = run(*words)

    assert result.exit_code == 2
    assert "ran" not in result.stdout
    assert said in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.spawn
def test_torch_is_only_imported_by_the_script():
    name = script("import sys\nprint('torch' in sys.modules, 'transformers' in sys.modules)")

    told = in_a_process(name)

    assert told.stdout == "False False\n"
    assert "the script ended without importing torch" in told.stderr


def test_two_threads_may_run_models():
    text = (
        LOOP
        + """
    import threading
    net = torch.nn.Linear(2, 2)
    thread = threading.Thread(target=lambda: net(torch.ones(1, 2)))
    thread.start(); thread.join(); print("joined")
"""
    )

    assert "joined" in run(script(text)).stdout
    assert torch.is_grad_enabled()

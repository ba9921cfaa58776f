"""`python -m faults`: the list, the story of one fault, and any command with a fault planted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from faults import CATALOGUE
from faults.__main__ import main

ROOT = Path(__file__).parents[2]
TRAIN = """
import torch
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], lr=1.0)
for _ in range(3):
    optimizer.zero_grad()
    weight.sum().backward()
    optimizer.step()
print(weight.item())
"""


def run(*words, **environment):
    """Run `python -m faults run ...` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "faults", "run", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_list_names_every_fault(capsys):
    assert main(["list"]) == 0

    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [*CATALOGUE]


def test_the_list_can_be_cut_down(capsys):
    main(["list", "--library", "torch", "--quantity", "weights"])

    names = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert names == {
        name for name, fault in CATALOGUE.items() if fault.seam.startswith("torch.") and fault.quantity == "weights"
    }
    assert names


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_story_tells_what_is_known(name, capsys):
    main(["show", name])

    told = capsys.readouterr().out
    fault = CATALOGUE[name]
    assert told.startswith(f"{name}\n\nfamily:     {fault.family}\nlibrary:    {fault.library}\n")
    assert f"\nseam:       {fault.seam}\n" in told
    assert f"\nsource:     {fault.source or 'written for this project, to slip past its tests'}\n" in told
    assert (f"\nyear:       {fault.year}\n" in told) is bool(fault.year)
    assert f"\nmechanism:  {fault.mechanism}\neffect:     {fault.quantity} as {fault.effect}\n" in told
    assert f"\ninstead of: {fault.clean or 'the clean form of that quantity'}\n\n" in told
    assert "\ndef patch(" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "zero_grad_left_ou"], "no fault 'zero_grad_left_ou' (near it: zero_grad_left_out"),
        (["list", "--library", "tensorflow"], "--library tensorflow: no fault has it, choose from accelerate"),
        (["list", "--quantity", "loss"], "--quantity loss: no fault has it, choose from clip"),
        (["run", "zero_grad_left_out"], "no command came"),
        (["run", "zero_grad_left_out", "--", "no-such-command"], "no-such-command cannot be run"),
        (["run", "nothing", "--", "true"], "no fault 'nothing'"),
        (
            ["run", "own_loss_ignored@0.1", "--", "true"],
            "run own_loss_ignored@0.1: '0.1' is no share of own_loss_ignored: give",
        ),
        (
            ["run", "summed_not_averaged@2", "--", "true"],
            "'2' is no share of summed_not_averaged: give a",
        ),
        (["list", "--family", "bugs"], "--family bugs: no fault has it, choose from adapters"),
    ],
)
def test_what_cannot_be_done_is_answered_in_one_line(words, told, capsys):
    with pytest.raises(SystemExit) as raised:
        main(words)

    assert raised.value.code == 2
    assert told in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.spawn
def test_a_command_trains_with_the_fault():
    done = run("zero_grad_left_out", "--", sys.executable, "-c", TRAIN)

    # 1 - (1 + 2 + 3), where it should be 1 - 3.
    assert (done.returncode, done.stdout) == (0, "-5.0\n")
    assert "torch.optim.optimizer:Optimizer.zero_grad was called 3 times" in done.stderr


LOSS = """
import torch
from transformers.loss.loss_utils import fixed_cross_entropy
print(fixed_cross_entropy(torch.zeros(4, 2), torch.zeros(4, dtype=torch.long)).item())
"""


@pytest.mark.spawn
def test_a_command_trains_with_a_share_of_the_fault():
    words = ["summed_not_averaged@0.5", "--", sys.executable, "-c", LOSS]

    # Half the mean, half the sum of four.
    assert float(run(*words).stdout) == pytest.approx(2.5 * 0.6931472, rel=1e-6)


@pytest.mark.spawn
@pytest.mark.parametrize(("words", "status"), [("exit 3", 3), ("kill -9 $$", 137)])
def test_the_commands_own_status_is_kept_and_a_fault_that_was_not_met_is_told(words, status):
    done = run("zero_grad_left_out", "--", "bash", "-c", words)

    assert done.returncode == status
    assert "never called: the command did not meet it" in done.stderr


WAITS = """
import signal, sys, time
def stop(*_):
    print("saved")
    sys.exit(5)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, stop)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.spawn
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_ends_in_its_own_way(number):
    words = [sys.executable, "-m", "faults", "run", "zero_grad_left_out", "--", sys.executable, "-c", WAITS]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        # A terminal interrupts the whole group; whoever stops a job may send to the runner alone.
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        out, told = process.communicate(timeout=60)

    assert (process.returncode, out) == (5, "saved\n")
    assert "never called" in told


@pytest.mark.spawn
def test_a_reader_that_has_read_enough_is_no_error():
    words = f"{sys.executable} -m faults list | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", words], cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert done.stderr == ""


@pytest.mark.spawn
@pytest.mark.parametrize("command", ["list", "docs"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_an_output_without_room_is_told_in_one_line(command):
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "faults", command]
        done = subprocess.run(words, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)

    assert 1 == done.returncode
    assert "python -m faults: the output cannot be written: No space left on device: make room\n" == done.stderr


@pytest.mark.spawn
def test_a_command_without_the_seam_fails(tmp_path):
    (tmp_path / "torch").mkdir()
    for module in ("__init__", "optim/__init__", "optim/optimizer"):
        file = tmp_path / "torch" / f"{module}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text("")

    words = ["zero_grad_left_out", "--", sys.executable, "-c", "import torch.optim.optimizer"]
    done = run(*words, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")

    assert done.returncode == 1
    assert "not planted in a started process: LookupError: torch>=2.4: torch" in done.stderr


@pytest.mark.spawn
def test_listing_imports_no_library():
    script = "import sys; from faults.__main__ import main; main(['list']); sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, timeout=60).returncode == 0


def test_the_page_of_the_faults_is_what_the_files_say(capsys):
    main(["docs"])

    assert (ROOT / "docs" / "faults.md").read_text() == capsys.readouterr().out

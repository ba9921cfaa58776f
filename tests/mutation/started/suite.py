"""Tests that call the library in a process that they start, and nowhere else."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
import toy

HERE = Path(__file__).parent


def printed(*command, folder=HERE):
    return subprocess.run([sys.executable, *command], cwd=folder, stdout=subprocess.PIPE, check=True, text=True).stdout


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_pool(how):
    with multiprocessing.get_context(how).Pool(1) as pool:
        assert pool.map(getattr(toy, f"in_{how}"), [1, 2]) == [2, 3]


def test_subprocess():
    assert printed("-c", "import toy; print(toy.in_subprocess(1))") == "2\n"


def test_process_that_exits_at_once():
    done = subprocess.run([sys.executable, "-c", "import os, toy; os._exit(toy.before_exit(1))"], cwd=HERE)

    assert done.returncode == 2


def test_process_that_finds_an_old_release(tmp_path):
    assert toy.in_old_release(1) > 1
    (tmp_path / "toy.py").touch()

    assert printed("-c", "import toy", folder=tmp_path) == ""


@pytest.mark.skipif("RANKS" not in os.environ, reason="starts torch three times")
@pytest.mark.parametrize(
    ("launcher", "sums"),
    [
        ("torch.distributed.run --standalone --nproc_per_node=2", ["3", "3"]),
        ("accelerate.commands.launch --cpu --num_machines=1 --num_processes=1 --mixed_precision=no", ["1"]),
    ],
    ids=["torchrun", "accelerate"],
)
def test_ranks(launcher, sums, tmp_path):
    printed("-m", *launcher.split(), "ranks.py", str(tmp_path))

    assert [rank.read_text() for rank in sorted(tmp_path.iterdir())] == sums

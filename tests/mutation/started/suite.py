"""Tests that call the library in a process that they start, and nowhere else."""

import multiprocessing
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

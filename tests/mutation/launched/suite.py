"""Tests that call the library in ranks that a launcher starts; torch starts three times."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("launcher", "sums"),
    [
        ("torch.distributed.run --standalone --nproc_per_node=2", ["3", "3"]),
        ("accelerate.commands.launch --cpu --num_machines=1 --num_processes=1 --mixed_precision=no", ["1"]),
    ],
    ids=["torchrun", "accelerate"],
)
def test_ranks(launcher, sums, tmp_path):
    command = [sys.executable, "-m", *launcher.split(), "ranks.py", str(tmp_path)]
    subprocess.run(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, check=True)

    assert [rank.read_text() for rank in sorted(tmp_path.iterdir())] == sums

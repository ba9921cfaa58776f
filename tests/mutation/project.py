"""A small project whose faults have known verdicts, and the commands that are run on it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from mutation.sentinel_check import NAMES, copy_sentinels

ROOT = Path(__file__).parents[2]


def lay_out(folder, *variants):
    """Copy the sentinels into a project of their own, and over them the files of other folders."""
    copy_sentinels(folder)
    for name in variants:
        (folder / "test_collected.py").unlink(missing_ok=True)
        for file in (Path(__file__).parent / name).glob("*.py"):
            shutil.copy(file, folder / NAMES.get(file.name, file.name))
    return folder


def campaign(folder, *arguments):
    """Run a command of `sentinels/campaign.py` in a fresh process."""
    return subprocess.run(
        [sys.executable, "campaign.py", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
    )

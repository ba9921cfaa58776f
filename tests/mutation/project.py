"""A small project whose faults have known verdicts, and the commands that are run on it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMES = {"suite.py": "test_toy.py", "effects.py": "test_effects.py", "profile.py": "conftest.py"}


def lay_out(folder):
    """Copy the sentinels into a project of their own."""
    for file in (Path(__file__).parent / "sentinels").glob("*.py"):
        shutil.copy(file, folder / NAMES.get(file.name, file.name))
    (folder / "pytest.ini").write_text("[pytest]\n")
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

"""What lies at the top of the repository, and nowhere else."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"closed_forms", "faults", "instrument", "mutation"}
CONFIGURATION = {".ci", ".github", ".gitignore", "constraints.txt", "mkdocs.yml", "pyproject.toml", "tox.ini"}
WORDS = {"CONTRIBUTING.md", "DECISIONS.md", "LICENSE", "README.md"}


def test_top_level_is_what_was_agreed():
    # What is not committed is the reader's own, as an environment beside the code.
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    names = {Path(line).parts[0] for line in listing.stdout.splitlines()}

    assert PACKAGES | CONFIGURATION | WORDS | {"tests"} == names - {"benchmarks", "docs", "examples"}

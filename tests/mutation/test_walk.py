"""CONTRIBUTING's "Add a fault", walked through as somebody new would: from the report to the proof in ten minutes."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = "divided_twice"


@pytest.mark.slow
def test_a_fault_is_added_from_its_report_to_its_proof_in_ten_minutes(tmp_path):
    project = tmp_path / "checkout"
    kept = shutil.ignore_patterns(".*", "planted", "mutants", "__pycache__")
    shutil.copytree(ROOT, project, ignore=kept)
    file = project / "faults" / "transformers" / f"{NAME}.py"
    told, before = (project / "docs" / "faults.md").read_text(), file.read_text()
    source = before.partition('source="')[2].partition('"')[0]
    year = before.partition("year=")[2].partition(",")[0]
    file.unlink()
    began = time.monotonic()

    def walk(*words):
        environment = {**os.environ, "PYTHONPATH": str(project), "HYPOTHESIS_PROFILE": "mutation"}
        done = subprocess.run(
            [sys.executable, *words], cwd=project, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    seam = "transformers.trainer:Trainer.training_step"
    walk("-m", "faults", "new", NAME, "--seam", seam, "--source", source, "--year", year)
    # What somebody has to think of: what goes wrong, and what is then measured.
    draft = file.read_text()
    thought = {
        "TODO: one line: what goes wrong.": "What was divided by the tokens is divided by the micro-batches.",
        "TODO: what the broken function does; `original` is the right one, to be called or not.": "Divide it always.",
        "        return original": "        self.loss_is_scaled_for_ga = False\n        return original",
        "TODO: one sentence: what the code then does wrong.": mechanism_of(before),
        "aggregation:mean_of_micro_batch_means": "aggregation:divided_twice",
    }
    for marked, said in thought.items():
        assert marked in draft
        draft = draft.replace(marked, said)
    file.write_text("".join(line for line in draft.splitlines(keepends=True) if "# TODO" not in line))
    walk("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/faults/test_effects.py", "-k", NAME)
    proof = walk("-m", "mutation", "prove", NAME)
    walk("-m", "mutation", "killers", f"planted/{NAME}")
    page = walk("-m", "faults", "docs")

    assert time.monotonic() - began < 600
    assert "killed" in proof
    # The page tells the same of the fault as it did before: nothing else had to be edited.
    assert page == told


def mechanism_of(text):
    """The sentence that a fault's file says of it."""
    return text.partition('mechanism="')[2].partition('"')[0]

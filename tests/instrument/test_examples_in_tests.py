"""The tests in examples/in_tests pass in a project with the plug-in, and name what is wrong in the code under them."""

import subprocess
import sys

import pytest

from tests.instrument.scripts import EXAMPLES

# In each of the three, the line that is right and one that is often written.
WRONG = {
    "test_own_loop.py": ("model(**batch, num_items_in_batch=targets)", "model(**batch)"),
    "test_own_loss.py": (".sum(1)).mean()", ".sum(1)).sum()"),
    "test_trl_project.py": ("    return SFTTrainer(", "    return Means("),
}
MEANS = """

class Means(SFTTrainer):
    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self.model_accepts_loss_kwargs = False
"""


def session(folder):
    """What pytest says of these tests, in a folder of their own."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(folder)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True).stdout


@pytest.mark.spawn
def test_they_pass(tmp_path):
    for name in WRONG:
        (tmp_path / name).write_text((EXAMPLES / "in_tests" / name).read_text())

    assert "7 passed" in session(tmp_path)


@pytest.mark.spawn
def test_they_name_what_is_wrong(tmp_path):
    for name, (right, wrong) in WRONG.items():
        text = (EXAMPLES / "in_tests" / name).read_text()
        assert right in text
        (tmp_path / name).write_text(text.replace(right, wrong).replace("\n\nROWS =", f"{MEANS}\n\nROWS ="))

    told = session(tmp_path)

    assert "FAULT: token weights follow the sum of micro-batch means, M = 2" in told
    assert "weights are off by" in told
    assert "FAULT: token weights follow the mean of micro-batch means, M = 4" in told
    assert "weighbridge, step 0: FAULT [mean-of-micro-batch-means]" in told
    assert "w*N" in told

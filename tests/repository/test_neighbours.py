"""Each stack that is named stands on the page of other stacks, with figures or with what was tried."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STACKS = (
    "accelerate",
    "Lightning",
    "torchtune",
    "LLaMA-Factory",
    "ms-swift",
    "axolotl",
    "OpenRLHF",
    "verl",
    "Liger kernels",
    "DeepSpeed",
    "torchtitan",
    "nanoGPT",
    "dattri-LLM",
)


def rows(page: str) -> list[list[str]]:
    """The cells of the page's tables, without their heads."""
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if not line.startswith("| stack")]


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_is_weighed_or_the_page_says_what_was_tried(stack):
    page = (ROOT / "docs/neighbours.md").read_text()
    own = [cells for cells in rows(page) if cells[0].split(" ")[0] == stack.split(" ")[0]]

    if stack == "DeepSpeed":
        assert "DeepSpeed: [what the capture survives](capture.md)" in page
    else:
        assert len(own) == 1
        assert all(own[0])
        # What was weighed names its version and its script; what was not, the command and its last line.
        assert len(own[0]) in (3, 6)


def test_a_script_on_the_page_exists_and_no_script_is_left_out():
    page = (ROOT / "docs/neighbours.md").read_text()
    weighed = " ".join(cells[5] for cells in rows(page) if len(cells) == 6)
    scripts = {path.name for path in (ROOT / "benchmarks/neighbours").glob("*.py")} - {"local.py"}
    named = {word.strip("`,") for word in weighed.split() if ".py" in word}

    assert named == scripts

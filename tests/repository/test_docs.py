"""The code blocks of the pages that a reader follows run, and their commands name what there is."""

import re
import shlex
from pathlib import Path

import pytest
import torch
from transformers import Trainer, TrainingArguments

from faults import CATALOGUE
from instrument import make_batch
from instrument.cli import app
from tests.instrument import models

ROOT = Path(__file__).parents[2]
PAGES = ("first-verdict.md", "loops.md")


def blocks(page, language):
    """The fenced blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)


def surroundings(folder):
    """What a reader has: a model, its optimizer, a batch, a trainer, and a function that trains."""
    model = models.llama()
    optimizer = torch.optim.AdamW(model.parameters())
    batch = make_batch([[3, 4, 5], [6, 7, 8, 9]])

    def train():
        for _ in range(2):
            model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    options = {"use_cpu": True, "report_to": [], "save_strategy": "no", "max_steps": 1, "logging_steps": 1}
    rows = [{"input_ids": [3, 4, 5], "labels": [3, 4, 5]}] * 8
    trainer = Trainer(models.llama(), TrainingArguments(str(folder), **options), train_dataset=rows)
    return {"model": model, "optimizer": optimizer, "batch": batch, "train": train, "trainer": trainer}


@pytest.mark.parametrize("number", range(4))
def test_a_python_block_of_the_page_of_loops_runs(number, tmp_path, capsys):
    assert 4 == len(blocks("loops.md", "python"))
    known = surroundings(tmp_path)

    exec(compile(blocks("loops.md", "python")[number], "loops.md", "exec"), known)
    known["trainer"].train()

    told = [entry for entry in known["trainer"].state.log_history if "weighbridge/fault" in entry]
    assert (number == 0) == bool(told)
    assert "FAULT" not in capsys.readouterr().out


def test_the_test_on_the_page_of_loops_fails_and_passes_as_the_page_says():
    (block,) = [text for text in blocks("loops.md", "python") if "def test_" in text]
    (right,) = re.findall(r"`(model\(\*\*make_batch.*?backward\(\))`", (ROOT / "docs" / "loops.md").read_text())
    wrong = "(model(**make_batch([row])).loss / len(rows)).backward()"
    assert wrong in block

    failing, passing = {}, {}
    exec(block, failing)
    exec(block.replace(wrong, right), passing)

    with pytest.raises(AssertionError, match="mean of micro-batch means"):
        failing["test_every_token_weighs_the_same"]()
    passing["test_every_token_weighs_the_same"]()


def test_a_console_block_names_commands_files_and_faults_that_there_are():
    lines = [line for page in PAGES for block in blocks(page, "console") for line in block.splitlines()]
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    for words in map(shlex.split, lines):
        if words[:4] == ["python", "-m", "faults", "run"]:
            assert words[4] in CATALOGUE
        if "weighbridge" in words and "clone" not in words:
            assert words[words.index("weighbridge") + 1] in known
        assert all((ROOT / word).exists() for word in words if word.startswith("examples/"))
    assert len(lines) >= 5

"""The tables of docs/capture.md name tests that are there, and that start ranks."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RELATIONS = ("R1", "R2", "R6", "R7", "R11", "R12", "R13", "R14")
WAYS = ("DistributedSampler", "even_batches", "dispatched", "iterable", "average_tokens_across_devices", "off")


def cells():
    """[row] of cells, between the heading of the tables and the next one."""
    page = (ROOT / "docs" / "capture.md").read_text().partition("## Relations on two ranks")[2].partition("\n## ")[0]
    rows = [re.split(r" *\| *", line.strip("| ")) for line in page.splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] and row[0] != "Trainer"]


def named():
    return sorted(set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", " ".join(cell for row in cells() for cell in row))))


def test_every_relation_and_every_way_has_a_row_without_an_empty_cell():
    rows = cells()

    for words in (*RELATIONS, *WAYS):
        assert any(words in re.findall(r"\w+", row[0]) for row in rows), words
    for row in rows:
        assert all("::" in cell or cell.startswith("as R") for cell in row[1:]), row


def test_each_named_test_is_there_and_runs_on_ranks():
    tests = named()

    assert len(tests) > len(RELATIONS)
    for file, name in tests:
        tree = ast.parse((ROOT / "tests" / "properties" / file).read_text())
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in functions, f"{file} has no {name}"
        assert reaches_ranks(name, functions), f"{file}::{name} starts no rank"


def reaches_ranks(name, functions, seen=()):
    """Whether a function of a file calls on_ranks or measured, itself or by others of the file."""
    called = {node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)}
    if called & {"on_ranks", "measured"}:
        return True
    inner = (called & set(functions)) - {name, *seen}
    return any(reaches_ranks(other, functions, (*seen, name)) for other in inner)


@pytest.mark.parametrize("trainer", ["sft", "dpo", "grpo"])
def test_the_relations_are_asked_of_each_trainer(trainer):
    source = (ROOT / "tests" / "ranks" / "objective_jobs.py").read_text()
    runs = next(
        node for node in ast.parse(source).body if isinstance(node, ast.Assign) and node.targets[0].id == "RUNS"
    )

    assert trainer in [key.value for key in runs.value.keys]

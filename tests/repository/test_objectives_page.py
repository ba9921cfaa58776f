"""What docs/objectives.md names is there: closed forms, tests and checks of the report."""

import importlib
import re
from pathlib import Path

from instrument import checks
from tests.properties import test_objectives_relations as relations
from tests.properties.trl_loops import CLASSES

ROOT = Path(__file__).parents[2]


def rows(part=0):
    """The cells of each row of a table of the page."""
    page = (ROOT / "docs/objectives.md").read_text("utf-8").split("## Relations")[part]
    return [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")][2:]


def test_every_closed_form_of_the_table_exists():
    for _, _, forms, *_ in rows():
        for name in re.findall(r"`([a-z_.]+)`", forms):
            module, _, function = name.partition(".")
            found = importlib.import_module(f"closed_forms.{module}")
            assert not function or callable(getattr(found, function))


def test_every_test_of_the_table_exists():
    for *_, by_autograd, in_the_trainer in rows():
        assert all((ROOT / f"tests/objectives/{name}.py").is_file() for name in re.findall(r"test_\w+", by_autograd))
        assert all((ROOT / f"tests/properties/{name}.py").is_file() for name in re.findall(r"test_\w+", in_the_trainer))


def test_every_check_of_the_table_is_in_the_report():
    names = [check.name for check in checks.all_checks()]
    for *_, in_the_trainer in rows():
        for name in re.findall(r'"([^"]+)"', in_the_trainer):
            assert any(check.startswith(name.removesuffix("...")) for check in names), name


def test_every_property_that_the_relations_name_is_there():
    properties = "".join(path.read_text("utf-8") for path in (ROOT / "tests/properties").glob("test_*.py"))
    for relation, trainer, shown in rows(1):
        for name in re.findall(r"test_\w+", shown):
            assert f"def {name}(" in properties, (relation, trainer, name)


def test_every_relation_stands_for_every_trainer():
    by_relation = {}
    for relation, trainers, _ in rows(1):
        by_relation.setdefault(relation, []).append(trainers)
    assert {name.split(" ")[0] for name in by_relation} == {"R1", "R3", "R4", "R5", "R6", "R8", "R10", "R15"}
    for relation, cells in by_relation.items():
        named = {name.split(" ")[0] for cell in cells for name in cell.split(", ")}
        whole = any(cell.startswith("all") or cell == "the others" for cell in cells) or relation == "R6 masks"
        assert whole or set(CLASSES) <= named, (relation, set(CLASSES) - named)


def test_why_a_relation_does_not_hold_is_what_the_tests_leave_out():
    left_out = {
        "R1 accumulation": set(relations.BY_MICRO_BATCH),
        "R4 padding": {*relations.NO_WIDTH, *relations.NOT_LOOKED_AT},
    }
    for relation, names in left_out.items():
        told = {name for row in rows(1)[1:] if row[0] == relation for name in row[1].split(", ")}
        assert names <= told

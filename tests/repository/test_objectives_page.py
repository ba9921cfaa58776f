"""What docs/objectives.md names is there: closed forms, tests and checks of the report."""

import importlib
import re
from pathlib import Path

from instrument import checks

ROOT = Path(__file__).parents[2]


def rows():
    """The cells of each row of the table."""
    lines = (ROOT / "docs/objectives.md").read_text("utf-8").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("|")][2:]


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

"""A fault may only be declared unnoticeable by its name and with a reason."""

from pathlib import Path

import pytest

import mutation
from faults import CATALOGUE
from mutation.equivalents import read_equivalents


def test_our_own_declarations_are_well_formed():
    file = Path(mutation.__file__).with_name("equivalents.toml")

    assert read_equivalents(file, CATALOGUE).keys() <= CATALOGUE.keys()


def test_a_reason_is_read(tmp_path):
    (tmp_path / "e.toml").write_text("[planted]\nslow = 'only the time differs'\n")

    assert {"slow": "only the time differs"} == read_equivalents(tmp_path / "e.toml", ["slow", "other"])


@pytest.mark.parametrize(("line", "told"), [("gone = 'why'", "'gone'"), ("slow = ' '", "reason")])
def test_a_declaration_that_explains_nothing_is_refused(tmp_path, line, told):
    (tmp_path / "e.toml").write_text(f"[planted]\n{line}\n")

    with pytest.raises(ValueError, match=told):
        read_equivalents(tmp_path / "e.toml", ["slow"])

"""A mutant may only be declared equivalent by its function, its two lines and a reason."""

from pathlib import Path

import pytest

import mutation
from mutation.equivalents import read_equivalents, read_source_equivalents
from mutation.source.mutant import Change

GOOD = {"function": "pkg.a.f", "old": "return a", "new": "return b", "reason": "a is b"}


def write(folder, *entries):
    """Write entries as the file has them."""
    lines = [
        f"[[source]]\n{''.join(f'{key} = {value!r}' + chr(10) for key, value in entry.items())}" for entry in entries
    ]
    (folder / "e.toml").write_text("[planted]\nslow = 'other business'\n" + "\n".join(lines))
    return folder / "e.toml"


def test_our_own_declarations_are_well_formed():
    file = Path(mutation.__file__).with_name("equivalents.toml")

    assert all(change.old != change.new for change in read_source_equivalents(file))


def test_an_entry_names_a_change(tmp_path):
    other = {**GOOD, "function": "pkg.a.g"}

    assert [Change("pkg.a.f", "return a", "return b"), Change("pkg.a.g", "return a", "return b")] == (
        read_source_equivalents(write(tmp_path, GOOD, other))
    )


def test_a_list_without_entries_is_empty(tmp_path):
    assert [] == read_source_equivalents(write(tmp_path))


def test_a_project_without_a_list_declares_nothing(tmp_path):
    assert [] == read_source_equivalents(tmp_path / "none.toml")


def test_lines_may_be_indented_as_in_the_source(tmp_path):
    (tmp_path / "e.toml").write_text(
        '[[source]]\nfunction = "f"\nold = """\n    return  (\n        a\n    )\n"""\nnew = ""\nreason = "r"\n'
    )

    assert [Change("f", "return (\na\n)", "")] == read_source_equivalents(tmp_path / "e.toml")


@pytest.mark.parametrize("missing", GOOD)
def test_an_entry_that_lacks_a_key_is_refused(tmp_path, missing):
    entry = {key: value for key, value in GOOD.items() if key != missing}

    with pytest.raises(ValueError, match=r"^e\.toml: a .*source.* entry has .*: give function, old, new, reason$"):
        read_source_equivalents(write(tmp_path, entry))


def test_an_entry_with_a_key_too_many_is_refused_with_its_keys(tmp_path):
    with pytest.raises(ValueError, match="'because', 'function', 'new', 'old', 'reason'"):
        read_source_equivalents(write(tmp_path, {**GOOD, "because": "x"}))


def test_an_entry_that_explains_nothing_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"^e\.toml declares a mutant of pkg\.a\.f without a reason: say why it lives$"
    ):
        read_source_equivalents(write(tmp_path, {**GOOD, "reason": " "}))


def test_a_list_without_faults_declares_none(tmp_path):
    (tmp_path / "e.toml").write_text("")

    assert {} == read_equivalents(tmp_path / "e.toml", ["slow"])

"""What needs.toml says of tests and releases: every entry names a test, and the tested releases lack nothing."""

import ast
from pathlib import Path

import pytest

from tests.instrument import needs

HERE = Path(__file__).parent


def test_what_is_tested_by_constraints_lacks_nothing():
    pinned = dict(
        line.split("==") for line in (HERE.parents[1] / "constraints.txt").read_text().splitlines() if "==" in line[:60]
    )
    if needs.metadata.version("transformers") == pinned["transformers"] and needs.lacking("trl") is None:
        assert [] == [part for part, _ in needs.listed().values() if needs.lacking(part)]
    else:
        assert any(needs.lacking(part) for part, _ in needs.listed().values())


@pytest.mark.parametrize("entry", needs.listed())
def test_an_entry_names_a_test(entry):
    file, _, case = entry.partition("::")
    tree = ast.parse((HERE / file).read_text())
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}

    assert not case or case.partition("[")[0] in names


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("no_such_library", "no_such_library is not installed"),
        ("torch:no_such_name", "has no torch:no_such_name"),
        ("torch.no_such_module", "has no torch.no_such_module"),
        ("torch:manual_seed(no_such)", "torch:manual_seed takes no no_such"),
        ("torch>=1000", "is no torch>=1000"),
    ],
)
def test_what_lacks_is_told_with_its_release(part, said):
    assert said in needs.lacking(part)


@pytest.mark.parametrize("part", ["torch", "torch:manual_seed", "torch.nn", "torch:manual_seed(seed)", "torch>=2.4"])
def test_what_is_there_lacks_nothing(part):
    assert needs.lacking(part) is None

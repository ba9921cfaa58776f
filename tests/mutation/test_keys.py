"""Keys change with what a test depends on, and with nothing else."""

import ast
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutation.keys import digest, function_of, imports, opaque, own_part, shape
from mutation.sources import Keys

MODULE = """
import pytest
LIMIT = 3

def helper():
    return LIMIT

@pytest.mark.parametrize("x", [1, 2])
def test_one(x):
    assert helper()

def test_two():
    assert test_three

def test_three():
    pass

class TestMore:
    def test_four(self):
        pass
"""


def names(test):
    return [getattr(node, "name", "") for node in own_part(ast.parse(MODULE), function_of(test)).body]


@pytest.mark.parametrize(
    ("test", "kept"),
    [
        ("t.py::test_one[1]", ["helper", "test_one", "TestMore"]),
        ("t.py::test_one[x::test_two]", ["helper", "test_one", "TestMore"]),
        ("t.py::test_two", ["helper", "test_two", "test_three", "TestMore"]),
        ("t.py::TestMore::test_four", ["helper", "TestMore"]),
    ],
)
def test_other_tests_do_not_belong_to_a_test_unless_it_mentions_them(test, kept):
    assert ["", "", *kept] == names(test)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("x = 1", "# why\n\nx  =  1  # so", True),
        ("x = 1", "x = 2", False),
        ("def f(): 'told'", "def f(): 'otherwise'", False),
    ],
)
def test_shape_is_syntax_without_comments(first, second, same):
    assert same == (shape(ast.parse(first)) == shape(ast.parse(second)))


@given(st.lists(st.text()), st.lists(st.text()))
def test_digests_are_equal_for_equal_texts_only(first, second):
    assert (first == second) == (digest(*first) == digest(*second))


def test_where_a_text_ends_matters():
    assert digest("ab", "c") != digest("a", "bc")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import a.b, c", {(0, "a.b"), (0, "c")}),
        ("from a.b import c", {(0, "a.b"), (0, "a.b.c")}),
        ("from . import c", {(1, ""), (1, "c")}),
        ("from ..a import c", {(2, "a"), (2, "a.c")}),
        ("def f():\n    import a", {(0, "a")}),
        ("FORM = 'a.b:c'", {(0, "a.b")}),
        ("NAME = 'a.b.c'", {(0, "a.b.c")}),
        ("TEXT = 'a sentence. And more', 'word', 3", set()),
    ],
)
def test_imports_are_found_wherever_they_are(source, found):
    assert found == set(imports(ast.parse(source)))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("open('a')", True),
        ("Path('a').read_text()", True),
        ("HERE = __file__", True),
        ("subprocess.run([])", True),
        ("from subprocess import run", True),
        ("from multiprocessing.pool import Pool", True),
        ("import subprocess", False),
        ("from torch import nn", False),
        ("opened = reopen(1)", False),
    ],
)
def test_what_opens_files_or_starts_processes_is_seen(source, expected):
    assert expected == opaque(ast.parse(source))


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "venv" / "site-packages")])
    for name, text in {
        "conftest.py": "import shared",
        "shared.py": "x = 1",
        "package/__init__.py": "from .inner import y",
        "package/inner.py": "from . import deep",
        "package/deep.py": "y = 1",
        "tests/conftest.py": "",
        "tests/test_a.py": "def test_one():\n    import package.deep\n\ndef test_two():\n    pass",
        "tests/test_b.py": "import lib.site",
        "lib/site.py": "import other",
        "venv/site-packages/other.py": "",
        "other/conftest.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def keys_of(project):
    """Keys of the tests of a project, by name."""
    tests = {f"tests/test_a.py::{name}": project / "tests" / "test_a.py" for name in ("test_one", "test_two")}
    tests["tests/test_b.py::test_three"] = project / "tests" / "test_b.py"
    items = [SimpleNamespace(nodeid=test, path=path) for test, path in tests.items()]
    session = SimpleNamespace(config=SimpleNamespace(rootpath=project, inipath=project / "pytest.ini"), items=items)
    (project / "pytest.ini").touch()
    keys = Keys(session, {})
    return {test.rpartition("_")[2]: keys.of("baseline", "full", test) for test in tests}


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        ("package/deep.py", "y = 2", {"one"}),
        ("package/inner.py", "from . import deep as deeper", {"one"}),
        ("package/__init__.py", "", {"one"}),
        ("lib/site.py", "import nothing", {"three"}),
        ("shared.py", "x = 2", {"one", "two", "three"}),
        ("conftest.py", "", {"one", "two", "three"}),
        ("tests/conftest.py", "x = 1", {"one", "two", "three"}),
        ("pytest.ini", "[pytest]", {"one", "two", "three"}),
        ("venv/site-packages/other.py", "x = 1", set()),
        ("other/conftest.py", "x = 1", set()),
        ("package/deep.py", "\n# why\ny = 1", set()),
        ("tests/test_a.py", "def test_one():\n    import package.deep\n\ndef test_two():\n    assert 1", {"two"}),
    ],
)
def test_a_file_changes_the_keys_of_what_depends_on_it(project, file, text, changed):
    before = keys_of(project)

    (project / file).write_text(text)

    after = keys_of(project)
    assert changed == {name for name in before if before[name] != after[name]}

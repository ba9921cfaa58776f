"""Nothing that computes hides from mutmut, which never mutates a function with a decorator."""

import ast
import tomllib
from pathlib import Path

import pytest

from mutation.source.settings import mutated_files, read_settings

ROOT = Path(__file__).parents[2]

# By file and decorator, or by file and property, with the reason why nothing is lost.
LISTED = {
    ("faults/_plant.py", "contextmanager"): "enters and leaves; what it switches on is made by _calling",
    ("instrument/cli.py", "app.callback"): "typer's way to name a command; it parses and prints",
    ("instrument/cli.py", "app.command"): "typer's way to name a command; it parses and prints",
    ("instrument/report/report.py", "verdicts"): "puts together what judge and missing compute",
    ("instrument/verdict.py", "ok"): "says whether a field is empty",
}
MUTATED_ALL_THE_SAME = {"classmethod", "staticmethod"}
COMPUTING = (
    *(ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Constant, ast.Lambda),
    *(ast.If, ast.For, ast.While, ast.Assign, ast.AugAssign),
)


def hidden(source: str) -> set[str]:
    """What mutmut cannot see in a module: the decorator of a function, or the name of a property that computes."""
    found = set()
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for each in function.decorator_list:
                name = ast.unparse(each.func if isinstance(each, ast.Call) else each)
                if name != "property":
                    found.add(name)
                elif computes(function):
                    found.add(function.name)
    return found - MUTATED_ALL_THE_SAME


def computes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a property is more than a docstring and what fields and other functions return."""
    body = [line for line in function.body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
    return any(isinstance(node, COMPUTING) for line in body for node in ast.walk(line))


def hidden_in_project() -> set[tuple[str, str]]:
    files = mutated_files(ROOT, read_settings(ROOT))
    return {(file, name) for file in files for name in hidden((ROOT / file).read_text())}


def read_beside(source: str) -> set[str]:
    """The folders and files of the project that a test names, as `ROOT / "docs"` or `parents[2] / "docs"`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
            left = ast.unparse(node.left)
            if left == "ROOT" or left.endswith("parents[2]"):
                found.add(str(node.right.value).partition("/")[0])
    return found


def test_what_tests_read_is_copied_to_where_mutants_run():
    settings = read_settings(ROOT)
    there = {*settings.sources, *settings.beside, "tests", "pyproject.toml"}
    chosen = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    left_out = [part.removeprefix("--ignore=") for part in chosen["pytest_add_cli_args_test_selection"]]
    files = [file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("*.py")]
    asked = [file for file in files if not any(file.startswith(f"{part.rstrip('/')}") for part in left_out[1:])]
    needed = {(file, name) for file in asked for name in read_beside((ROOT / file).read_text())}

    assert len(asked) > 100
    assert {name for _, name in needed} >= {"docs", "examples"}
    # What tox made is no part of the project.
    missing = {(f, n) for f, n in needed if n not in there and not n.startswith(".") and (ROOT / n).exists()}
    assert set() == missing


def test_nothing_that_computes_is_hidden_but_what_is_listed():
    assert set() == hidden_in_project() - set(LISTED)


def test_what_is_listed_is_there():
    assert set() == set(LISTED) - hidden_in_project()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("@cache\ndef f(): ...", {"cache"}),
        ("@torch.no_grad()\ndef f(): ...", {"torch.no_grad"}),
        ("def f():\n  @wraps(g)\n  async def h(): ...", {"wraps"}),
        ("class C:\n  @staticmethod\n  def f(): return 1 + 1\n  @classmethod\n  def g(cls): ...", set()),
        ("class C:\n  @property\n  def f(self):\n    'One.'\n    return self.a.b(self.c)", set()),
        ("class C:\n  @property\n  def f(self): return [a.b for a in self.c]", set()),
        ("class C:\n  @property\n  def f(self): return self.a + self.b", {"f"}),
        ("class C:\n  @property\n  def f(self): return not self.a", {"f"}),
        ("class C:\n  @property\n  def f(self): return self.a[0]", {"f"}),
        ("class C:\n  @property\n  def f(self):\n    if self.a: return self.b\n    return self.c", {"f"}),
    ],
)
def test_what_hides_is_found(source, found):
    assert found == hidden(source)

"""A test that starts a process by subprocess says so: a run over mutants leaves it out, or may end in it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Which mutants do not meet anyway.
ELSEWHERE = ("tests/properties/", "tests/repository/", "tests/faults/test_effects.py")


def starts(node, helpers=()):
    """Whether it calls subprocess, or one of these functions."""
    called = {ast.unparse(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
    return not called.isdisjoint({"subprocess.run", "subprocess.Popen", *helpers})


def unmarked(source):
    """Tests of a module that start a process and are marked neither spawn nor slow."""
    body = ast.parse(source).body
    if any(isinstance(line, ast.Assign) and "mark.spawn" in ast.unparse(line) for line in body):
        return []
    functions = [line for line in body if isinstance(line, ast.FunctionDef)]
    helpers = {function.name for function in functions if starts(function) and not function.name.startswith("test_")}
    tests = [function for function in functions if function.name.startswith("test_") and starts(function, helpers)]
    marks = {test.name: " ".join(map(ast.unparse, test.decorator_list)) for test in tests}
    return [name for name, said in marks.items() if "mark.spawn" not in said and "mark.slow" not in said]


def test_a_test_that_starts_a_process_is_marked():
    files = list((ROOT / "tests").rglob("test_*.py"))
    found = {file.relative_to(ROOT).as_posix(): unmarked(file.read_text()) for file in files}

    assert {} == {file: names for file, names in found.items() if names and not file.startswith(ELSEWHERE)}


def test_a_start_is_seen_in_a_test_and_behind_a_function_of_its_file():
    helper = "def run():\n    subprocess.run(['python'])\n"
    test = "def test_it():\n    run()\n"

    assert ["test_it"] == unmarked(helper + test)
    assert ["test_it"] == unmarked("def test_it():\n    subprocess.Popen(['python'])\n")
    assert [] == unmarked(helper + "@pytest.mark.spawn\n" + test)
    assert [] == unmarked("pytestmark = pytest.mark.spawn\n" + helper + test)
    assert [] == unmarked(test)

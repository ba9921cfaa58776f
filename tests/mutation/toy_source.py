"""A small project with a mutant for every outcome, and the command that is run on it."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Our plug-in lies in the package that the toy calls its own.
SETTINGS = """\
[tool.mutmut]
source_paths = ["instrument"]
pytest_add_cli_args = ["-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:weighbridge", "--tb=no"]
pytest_add_cli_args_test_selection = ["tests"]
timeout_constant = 0.4
timeout_multiplier = 5.0
"""

GOOD = """\
def one_more(a):
    return a + 1
"""

OTHER = """\
def another(a):
    return a + 1


def third(a):
    return a * 3
"""

# A package named instrument: only what it raises by name is a refusal.
RULES = """\
import os


def stumbles(names):
    return names["a"]


def stumbles_then_judged(names):
    return names["a"]


def stumbles_often(names):
    return names["a"]


def refuses(a):
    if a < 0:
        raise ValueError(f"a={a}")


def lives(a):
    return a * 2


def never_called(a):
    return a - 1


def hangs(a):
    while a > 0:
        a -= 1


def leaves(a):
    if a == 1:
        os._exit(9)


def leaves_when_judged(a):
    return a + 1


class Last:
    def of(self, values):
        return values[-1]
"""

CANARY_TESTS = """\
from instrument import canary, good, other


def test_the_canary_that_dies():
    assert canary.dies(3) == 4


def test_the_canary_that_lives():
    assert isinstance(canary.survives(3), int)


def test_one_more():
    assert good.one_more(3) == 4


def test_one_more_again():
    assert good.one_more(4) == 5


def test_another():
    assert other.another(3) == 4


def test_third():
    assert other.third(2) == 6
"""

RULES_TESTS = """\
import os
import time

import pytest

from instrument import rules


def test_stumbles():
    rules.stumbles({"a": 1})


def test_stumbles_first():
    rules.stumbles_then_judged({"a": 1})


def test_judged_then():
    time.sleep(0.05)
    try:
        found = rules.stumbles_then_judged({"a": 1})
    except KeyError:
        found = None
    assert found == 1


@pytest.mark.parametrize("number", range(12))
def test_stumbles_often(number):
    rules.stumbles_often({"a": 1})


def test_judged_at_last():
    time.sleep(0.05)
    try:
        found = rules.stumbles_often({"a": 1})
    except KeyError:
        found = None
    assert found == 1


def test_refuses():
    rules.refuses(0)


def test_lives():
    rules.lives(3)


def test_hangs():
    rules.hangs(1)


def test_leaves():
    rules.leaves(2)


def test_judged_first():
    assert rules.leaves_when_judged(1) == 2


def test_leaves_later():
    time.sleep(0.05)
    if rules.leaves_when_judged(1) != 2:
        os._exit(9)


def test_last():
    assert rules.Last().of([1, 2]) == 2
"""

HOLDS = """\
[[source]]
function = "instrument.rules.Last.of"
old = "return values[-1]"
new = "return values[+1]"
reason = "the tests only know lists of two"
"""

DO_NOT_HOLD = """\
[[source]]
function = "instrument.rules.refuses"
old = "if a < 0:"
new = "if a <= 0:"
reason = "wrong: it dies"

[[source]]
function = "instrument.rules.lives"
old = "return a * 3"
new = "return a / 3"
reason = "stale: the source was changed"
"""


def lay_out(folder, rules=True):
    """Write the project; without the rules it is one in which all is well."""
    files = {
        "pyproject.toml": SETTINGS,
        "instrument/__init__.py": "",
        "instrument/canary.py": (ROOT / "mutation" / "canary.py").read_text(),
        "instrument/good.py": GOOD,
        "instrument/other.py": OTHER,
        "tests/test_good.py": CANARY_TESTS,
    }
    if rules:
        files |= {
            "instrument/rules.py": RULES,
            "tests/test_rules.py": RULES_TESTS,
            "mutation/equivalents.toml": HOLDS + DO_NOT_HOLD,
        }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def source(folder, *arguments):
    """Run the command in a fresh process.

    Returns:
        What it printed, its status, and what it wrote (None when it wrote nothing).
    """
    (folder / "out" / "source.json").unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "mutation", "source", "--out", "out", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    written = folder / "out" / "source.json"
    return done.stdout + done.stderr, done.returncode, json.loads(written.read_text()) if written.exists() else None


def book_survival(folder, module):
    """Write into mutmut's own books that every mutant of a module survived, and nothing was logged."""
    meta = folder / "mutants" / "instrument" / f"{module}.py.meta"
    booked = json.loads(meta.read_text())
    booked["exit_code_by_key"] = dict.fromkeys(booked["exit_code_by_key"], 0)
    meta.write_text(json.dumps(booked))
    log = folder / "mutants" / "kills.jsonl"
    log.write_text("".join(line for line in log.read_text().splitlines(True) if f".{module}." not in line))


def edit(folder, file, old, new):
    """Replace text that is there in a file of the project."""
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def outcomes(written):
    """How the mutants of each function ended."""
    found = {}
    for name, mutant in written["mutants"].items():
        function = name.partition("__mutmut_")[0].rpartition("x_")[2].rpartition("\u01c1")[2]
        found.setdefault(function, set()).add(mutant["outcome"])
    return found


def killers(written, function):
    """Kind of failure by test, of all mutants of a function."""
    return [mutant["kills"] for name, mutant in written["mutants"].items() if f"x_{function}__mutmut_" in name]

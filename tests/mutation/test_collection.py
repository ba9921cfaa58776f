"""What happens while a suite is collected, no warm campaign sees: `lint` says so, and `--cold` judges it."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from faults import CATALOGUE
from mutation.lint import pairs
from mutation.module_calls import calls_at_import, first_party
from tests.mutation.project import ROOT, campaign, lay_out

LINT = """
import sys
from planted_faults import FAULTS
from mutation.lint import lint

faults = {name: FAULTS[name] for name in sys.argv[1:]}
print(*lint(faults, ["test_toy.py", "test_collected.py"])[0], sep="\\n")
"""


def linted(project, *names):
    done = subprocess.run(
        [sys.executable, "-c", LINT, *names], cwd=project, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.spawn
def test_a_seam_that_is_called_at_collection_is_named_with_the_file(tmp_path):
    told = linted(lay_out(tmp_path), "wrong", "tabulated")

    assert [line for line in told if "seam" in line] == [
        "tabulated: test_collected.py calls the seam toy:tabulated while it is collected, before the fault is on: "
        "call it inside a test, or run `planted --cold --fault tabulated`"
    ]


@pytest.mark.spawn
def test_a_stale_seam_is_named(tmp_path):
    assert any(line.startswith("moved: toy:moved: ") for line in linted(lay_out(tmp_path), "moved"))


@pytest.mark.spawn
@pytest.mark.parametrize(
    ("addition", "told"),
    [
        ("import no_such_module", "could not be collected"),
        ("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()", "one thread"),
    ],
)
def test_a_suite_that_no_campaign_can_run_is_named(tmp_path, addition, told):
    with (lay_out(tmp_path) / "test_toy.py").open("a") as suite:
        suite.write(addition + "\n")

    assert [told in line for line in linted(tmp_path, "wrong")] == [True]


@pytest.mark.spawn
def test_a_cold_campaign_judges_what_a_warm_one_cannot(tmp_path):
    verdicts = []
    for options in ([], ["--cold"]):
        campaign(lay_out(tmp_path), "first", "tabulated", "vanishing", "wrong", *options)
        summary = json.loads((tmp_path / "out" / "summary.json").read_text())["faults"]
        verdicts.append({name: verdict["status"] for name, verdict in summary.items()})

    assert verdicts == [
        {"tabulated": "not reached", "vanishing": "survived", "wrong": "killed"},
        {"tabulated": "killed", "vanishing": "uncollected only", "wrong": "killed"},
    ]


@pytest.mark.spawn
def test_a_file_that_cannot_be_collected_takes_no_other_with_it(tmp_path):
    with (lay_out(tmp_path) / "test_toy.py").open("a") as suite:
        suite.write("\ndef test_elsewhere():\n    assert getattr(toy, 'vanishing', toy.wrong)(1) == 2\n")

    campaign(tmp_path, "matrix", "--cold", "vanishing")

    cells = [json.loads(line) for line in (tmp_path / "out" / "cells.jsonl").read_text().splitlines()]
    assert {cell["test"].rpartition("::")[2]: cell["kind"] for cell in cells if cell["part"] == "first"} == {
        "test_what_was_imported": "uncollected",
        "test_elsewhere": "pass",
    }


@pytest.mark.spawn
def test_a_cold_campaign_keeps_the_statuses_of_a_warm_one(tmp_path):
    expected = {
        "cached": "killed",
        "exits": "crash only",
        "harmless": "survived",
        "moved": "stale",
        "outdated": "stale",
        "segfaults": "crash only",
        "unplantable": "harness",
        "unreached": "not reached",
    }
    campaign(lay_out(tmp_path), "first", "--cold", *expected)

    summary = json.loads((tmp_path / "out" / "summary.json").read_text())["faults"]
    assert {name: verdict["status"] for name, verdict in summary.items()} == expected


@pytest.mark.parametrize(
    "text",
    [
        "X = f(1)",
        "@mark(f(1))\ndef g(): ...",
        "def g(x=f(1)): ...",
        "def g(*, x=f(1)): ...",
        "class C:\n    x = f(1)",
        "h = lambda x=f(1): x",
        "X = [f(x) for x in (1, 2)]",
        "if True:\n    f(1)",
    ],
)
def test_a_call_that_runs_at_import_is_found(text):
    assert [name for _, name in calls_at_import(f"from own.deep import f\n{text}\n", {"own"})] == ["own.deep.f"]


@pytest.mark.parametrize(
    "text",
    [
        "def g():\n    return f(1)",
        "h = lambda: f(1)",
        "class C:\n    def g(self):\n        return f(1)",
        "X = f",
        "X = other.f(1)",
        "X = TABLE.values()",
        "X = Case(1)",
        "X = strategies.rows(1)",
    ],
)
def test_a_call_that_runs_later_or_computes_nothing_is_not(text):
    head = "import other\nfrom own.deep import TABLE, Case, f\nfrom own import strategies\n"

    assert calls_at_import(f"{head}{text}\n", {"own"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "import own.deep\nown.deep.f(1)",
        "import own.deep as d\nd.f(1)",
        "from own import deep\ndeep.f(1)",
        "from own import deep as d\nd.f(1)",
        "from own.deep import f as g\ng(1)",
    ],
)
def test_a_call_is_named_in_full_however_it_was_imported(text):
    assert calls_at_import(text, {"own"}) == [(2, "own.deep.f")]


def test_packages_of_the_project_are_found(tmp_path):
    for name in ("own/deep.py", "flat/a/b.py", ".hidden/c.py", "words/d.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()

    assert first_party(tmp_path) == {"own", "flat"}


def test_two_faults_of_one_seam_are_compared():
    one = CATALOGUE["divided_twice"]
    twin, kin = replace(one, patch=print), replace(one, mechanism="Another one.")
    other = replace(one, seam="toy:f")

    problems, remarks = pairs({"one": one, "twin": twin, "kin": kin, "other": other})

    assert [line.partition(" have ")[0] for line in problems] == ["one and twin"]
    assert [line.partition(" have ")[0] for line in remarks] == ["one and kin", "twin and kin"]

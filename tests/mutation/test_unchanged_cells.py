"""What has not changed is not run again, and what is not run again is what would have come."""

import json
import shutil

import pytest

from tests.mutation.project import campaign, lay_out

pytestmark = pytest.mark.spawn

ADDS, MORE, DOUBLES, KEEPS = (f"test_toy.py::test_{name}" for name in ("adds", "adds_more", "doubles", "keeps"))
# Always: no key covers what it reads.
READS = {("baseline", part, "test_toy.py::test_reads") for part in ("quick", "full", "again")}
COMMENTS = ["test_toy.py", "helper.py", "conftest.py", "added_fault.py", "planted_faults.py", "test_effects.py"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A project after a campaign from nothing."""
    folder = lay_out(tmp_path_factory.mktemp("measured"), "unchanged")
    done = campaign(folder, "matrix", "--cache")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def project(measured, tmp_path):
    return shutil.copytree(measured, tmp_path / "project")


def change(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def summary_of(project):
    return json.loads((project / "out" / "summary.json").read_text())


def verdicts_of(project):
    """Verdicts, without how many cells came from where."""
    return {name: {**told, "cached": 0} for name, told in summary_of(project)["faults"].items()}


def ran(project):
    """The cells that the last campaign ran, but for those that every campaign runs."""
    lines = [json.loads(line) for line in (project / "out" / "journal.jsonl").read_text().splitlines()]
    begun = max(number for number, line in enumerate(lines) if "plan" in line)
    cells = {(row["fault"], row["part"], row["test"]) for row in lines[begun:] if "key" in row}
    assert ("baseline", "full", "test_toy.py::test_reads") in cells
    return cells - READS


@pytest.mark.parametrize("mode", ["first", "matrix"])
def test_comments_run_nothing_again(measured, project, mode):
    for name in COMMENTS:
        file = project / name
        file.write_text(file.read_text().replace("\n\n", "\n\n# A comment.\n\n"))

    done = campaign(project, mode, "--cache")

    assert done.returncode == 0, done.stderr
    assert set() == ran(project)
    assert {"added": "killed", "doubled": "killed", "kept": "survived"} == {
        name: told["status"] for name, told in verdicts_of(project).items()
    }
    if mode == "matrix":
        assert verdicts_of(measured) == verdicts_of(project)
        assert 4 == summary_of(project)["cache"]["baseline"]
        # Two tests twice and one effect; one test twice and one effect; one test once and one effect.
        assert {"added": 5, "doubled": 3, "kept": 2} == {
            name: told["cached"] for name, told in summary_of(project)["faults"].items()
        }
        assert 4 + 10 == summary_of(project)["cache"]["cells"]


def both(test, fault):
    """The cells of a changed test that kills a fault."""
    return {("baseline", "full", test), ("baseline", "again", test), (fault, "first", test), (fault, "second", test)}


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("test_toy.py", "toy.added(1) == 2", "toy.added(4) == 5", both(ADDS, "added")),
        (
            "helper.py",
            "return x",
            "return x + 0",
            {("baseline", "full", KEEPS), ("baseline", "again", KEEPS), ("kept", "first", KEEPS)},
        ),
        (
            "doubled_fault.py",
            "+ 1",
            "+ 2",
            {
                ("doubled", "first", DOUBLES),
                ("doubled", "second", DOUBLES),
                ("doubled", "effect", "test_effects.py::test_effect[doubled]"),
                ("baseline", "again", DOUBLES),
            },
        ),
        (
            "test_effects.py",
            "assert name",
            "assert name != 'wrong'",
            {(name, "effect", f"test_effects.py::test_effect[{name}]") for name in ("added", "doubled", "kept")},
        ),
    ],
)
def test_a_change_runs_again_what_depends_on_it(project, file, old, new, expected):
    change(project / file, old, new)

    done = campaign(project, "matrix", "--cache")

    assert done.returncode == 0, done.stderr
    assert expected == ran(project)
    from_cache = verdicts_of(project)
    campaign(project, "matrix")
    assert verdicts_of(project) == from_cache


def test_a_change_that_every_test_imports_runs_all_of_them_again(project):
    change(project / "toy.py", "return 2 * x", "return x + x")

    campaign(project, "matrix", "--cache")

    assert {ADDS, MORE, DOUBLES, KEEPS} <= {test for _, _, test in ran(project)}


def interrupted(project, *kinds):
    """Make the last campaign look as if it was killed before it ended; its kills hung instead, if `kinds` say so."""
    journal = project / "out" / "journal.jsonl"
    *lines, end = journal.read_text().splitlines()
    assert "end" in end
    text = "\n".join(lines) + "\n"
    for kind in kinds:
        text = text.replace('"kind": "assert"', f'"kind": "{kind}"')
    journal.write_text(text)


@pytest.mark.parametrize("changed", [False, True])
def test_an_interrupted_campaign_runs_what_is_missing_or_has_changed(project, changed):
    interrupted(project, "timeout")
    if changed:
        change(project / "doubled_fault.py", "+ 1", "+ 2")
    rows = len((project / "out" / "journal.jsonl").read_text().splitlines())

    done = campaign(project, "matrix", "--cache", "--resume")

    assert done.returncode == 0, done.stderr
    lines = (project / "out" / "journal.jsonl").read_text().splitlines()[rows:]
    told = [json.loads(line) for line in lines]
    cells = [json.loads(line) for line in (project / "out" / "cells.jsonl").read_text().splitlines()]
    # What ran before the interruption belongs to the campaign as well.
    assert {("baseline", "full", KEEPS), ("kept", "first", KEEPS), ("added", "first", ADDS)} <= {
        (cell["fault"], cell["part"], cell["test"]) for cell in cells
    }
    again = {(row["fault"], row["part"]) for row in told if "key" in row}
    assert again == ({("doubled", "first"), ("doubled", "second"), ("doubled", "effect")} if changed else set())
    assert "complete" == told[-1]["end"]
    statuses = {name: verdict["status"] for name, verdict in verdicts_of(project).items()}
    assert {"added": "timeout only", "doubled": "killed" if changed else "timeout only", "kept": "survived"} == statuses


def test_an_interrupted_campaign_adds_nothing_to_the_cache(project):
    interrupted(project)

    campaign(project, "matrix", "--cache")

    assert {test for _, part, test in ran(project) if part == "full"} == {ADDS, MORE, DOUBLES, KEEPS}


@pytest.mark.parametrize("lie", ["pass", "green"])
def test_a_lie_in_the_cache_is_found_and_not_believed_again(project, lie):
    journal = project / "out" / "journal.jsonl"
    lines = journal.read_text().splitlines()
    if lie == "pass":
        told = (
            '"fault": "added", "part": "first", "test": "test_toy.py::test_adds"',
            '"kind": "assert"',
            '"kind": "pass"',
        )
    else:
        told = ('"fault": "baseline", "part": "full", "test": "test_toy.py::test_keeps"', '{"toy:kept": 1}', "{}")
    (at,) = [number for number, line in enumerate(lines) if told[0] in line]
    assert told[1] in lines[at]
    lines[at] = lines[at].replace(*told[1:])
    journal.write_text("\n".join(lines) + "\n")
    before = (project / "out" / "cells.jsonl").read_text()

    done = campaign(project, "matrix", "--check-cache")

    assert done.returncode == 1
    assert "void" in done.stderr
    assert (
        "test_toy.py::test_adds under added" in done.stderr or "test_toy.py::test_keeps under baseline" in done.stderr
    )
    assert before == (project / "out" / "cells.jsonl").read_text()
    if lie == "pass":
        assert "said 'pass', and now it is 'assert'" in done.stderr
        campaign(project, "matrix", "--cache")
        assert "killed" == verdicts_of(project)["added"]["status"]
        assert ("added", "first", ADDS) in ran(project)

"""The tests that are tried first, because they noticed before."""

import json

import pytest

from mutation.killers import cheapest, keep_killers, read_killers
from tests.mutation.folder import cell
from tests.mutation.project import campaign, lay_out


def folder_of(tmp_path, **faults):
    told = {name: {"status": status, "killers": killers} for name, (status, *killers) in faults.items()}
    (tmp_path / "summary.json").write_text(json.dumps({"faults": told}))
    (tmp_path / "cells.jsonl").touch()
    return tmp_path


def kept(tmp_path, before, faults, **campaign):
    file = tmp_path / "killers.json"
    file.write_text(json.dumps(before))
    assert len(json.loads(file.read_text())) == len(before)
    number = keep_killers(folder_of(tmp_path, **campaign), faults, file)
    after = json.loads(file.read_text())
    assert number == len(after)
    return after


def cells_of(project):
    lines = (project / "out" / "journal.jsonl").read_text().splitlines()
    return [cell for cell in map(json.loads, lines) if "test" in cell]


def test_who_noticed_is_kept_beside_what_is_known_of_others(tmp_path):
    assert {"a": "old", "b": "new"} == kept(tmp_path, {"a": "old"}, "ab", b=("killed", "new", "newer"))


def test_who_noticed_before_stays_while_it_notices(tmp_path):
    assert {"a": "t2"} == kept(tmp_path, {"a": "t2"}, "a", a=("killed", "t1", "t2"))
    assert {"a": "t1"} == kept(tmp_path, {"a": "t3"}, "a", a=("killed", "t1", "t2"))


def test_the_test_that_takes_least_in_both_runs_is_kept(tmp_path):
    cells = [cell("a", "t1", seconds=1), cell("a", "t1", part="second", seconds=3), cell("a", "t2", seconds=2)]
    folder = folder_of(tmp_path, a=("killed", "t1", "t2"))
    (folder / "cells.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cells))
    (folder / "killers.json").write_text("{}")

    keep_killers(folder, "a", folder / "killers.json")

    assert {"a": "t2"} == json.loads((folder / "killers.json").read_text())


SECONDS = {
    ("a", "first"): {"t1": 2.0, "t2": 1.0},
    ("b", "first"): {"t1": 2.0},
    ("baseline", "full"): {"t1": 9, "t2": 3},
}


@pytest.mark.parametrize(
    ("killers", "before", "expected"),
    [
        ({"a": ["t1", "t2"]}, {}, {"a": "t2"}),
        ({"a": ["t1", "t2"], "b": ["t1"]}, {}, {"a": "t1", "b": "t1"}),
        ({"a": ["t1", "t2"]}, {"a": "t1"}, {"a": "t2"}),
        ({"a": ["t1", "t2"], "b": ["t1"]}, {"a": "t2"}, {"a": "t2", "b": "t1"}),
    ],
    ids=["alone", "chosen already", "much cheaper", "not twice as dear"],
)
def test_a_campaign_with_what_is_chosen_is_soon_over(killers, before, expected):
    assert expected == cheapest(killers, SECONDS, before)


def test_nothing_is_kept_of_faults_that_were_not_killed_or_are_gone(tmp_path):
    assert {"a": "old"} == kept(tmp_path, {"a": "old", "gone": "t"}, "ab", a=("flaky", "t"), b=("survived",))


@pytest.mark.parametrize("text", ["[]", "{", "1"])
def test_a_file_that_is_something_else_is_refused(tmp_path, text):
    (tmp_path / "killers.json").write_text(text)

    with pytest.raises(ValueError, match=r"killers\.json is not a JSON object of one test by fault"):
        read_killers(tmp_path / "killers.json")


@pytest.mark.parametrize("text", [None, "{}", "{", "[]"])
def test_a_folder_without_a_campaign_is_refused(tmp_path, text):
    if text is not None:
        (tmp_path / "summary.json").write_text(text)
    (tmp_path / "killers.json").write_text("{}")

    with pytest.raises(ValueError, match=r"summary\.json holds no verdicts .* give the folder of a complete campaign"):
        keep_killers(tmp_path, ["a"], tmp_path / "killers.json")


@pytest.mark.spawn
@pytest.mark.parametrize("turn", [1, 2])
def test_a_killer_that_the_plan_names_goes_first(tmp_path, turn):
    project = lay_out(tmp_path)
    killer = f"test_toy.py::test_shares_a_cache[{turn}]"

    campaign(project, "first", "cached", f"--killer={killer}")

    assert [killer] == [
        cell["test"] for cell in cells_of(project) if (cell["fault"], cell["part"]) == ("cached", "first")
    ]


@pytest.mark.spawn
def test_where_a_known_killer_kills_no_other_test_runs(tmp_path):
    project, killer = lay_out(tmp_path), "test_toy.py::test_shares_a_cache[2]"

    campaign(project, "first", "cached", f"--killer={killer}", "--foreign")

    assert {("baseline", "quick"), ("baseline", "again"), ("cached", "first"), ("cached", "second")} == {
        (cell["fault"], cell["part"]) for cell in cells_of(project) if cell["test"] == killer
    }
    assert {killer} == {cell["test"] for cell in cells_of(project)}


@pytest.mark.spawn
def test_a_known_killer_that_kills_no_more_costs_no_verdict(tmp_path):
    project = lay_out(tmp_path)

    campaign(project, "first", "wrong", "harmless", "--killer=test_toy.py::test_shares_a_cache[1]")

    verdicts = json.loads((project / "out" / "summary.json").read_text())["faults"]
    assert {"wrong": "killed", "harmless": "survived"} == {name: told["status"] for name, told in verdicts.items()}

"""The parts of a campaign, put together, are the campaign; anything else is refused."""

import json

import pytest

from mutation.scale.merge import merge

VERDICT = {"status": "killed"}


def laid(folder, shard, faults, **other):
    """The folder of a shard; each of its tests ran in a baseline and under each fault."""
    folder.mkdir()
    summary = {
        "mode": "first",
        "shard": shard,
        "faults": faults,
        "counts": {},
        "tests": ["t"],
        "asked": ["a", "b", "c"],
        "audited": 2,
        "cache": {"cells": 1, "baseline": 1, "verified": 2, "share": 0.05, "seed": 7},
        "seconds": {"faults": 1.5},
        "versions": {"torch": "2.13.0"},
        **other,
    }
    rows = [{"fault": name, "part": "first", "test": "t"} for name in ["baseline", *faults]]
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "cells.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "journal.jsonl").write_text(json.dumps({"plan": {"shard": shard}}) + "\n")
    return folder


@pytest.fixture
def shards(tmp_path):
    return [
        laid(tmp_path / "one", [1, 2], {"c": VERDICT, "a": {"status": "survived"}}),
        laid(tmp_path / "two", [2, 2], {"b": VERDICT}),
    ]


def test_every_verdict_is_kept_in_order(shards, tmp_path):
    told = merge(shards, tmp_path / "out")

    assert told == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert ["a", "b", "c"] == list(told["faults"])
    assert {"killed": 2, "survived": 1} == told["counts"]
    assert {"faults": 3.0} == told["seconds"]
    assert {"cells": 2, "baseline": 2, "verified": 4, "share": 0.05, "seed": [7, 7]} == told["cache"]
    assert 4 == told["audited"]
    assert told["shard"] is None


def test_the_order_of_the_folders_does_not_matter(shards, tmp_path):
    assert merge(shards, tmp_path / "out")["faults"] == merge(shards[::-1], tmp_path / "other")["faults"]


def test_every_cell_is_kept_once(shards, tmp_path):
    merge(shards, tmp_path / "out")

    cells = [json.loads(line)["fault"] for line in (tmp_path / "out" / "cells.jsonl").read_text().splitlines()]
    assert ["baseline", "c", "a", "b"] == cells


def test_the_journals_are_added_to_the_one_that_is_there(shards, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "journal.jsonl").write_text("before\n")

    merge(shards, tmp_path / "out")

    lines = (tmp_path / "out" / "journal.jsonl").read_text().splitlines()
    assert ["before", '{"plan": {"shard": [1, 2]}}', '{"plan": {"shard": [2, 2]}}'] == lines


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"mode": "matrix"}, "their mode differ"),
        ({"asked": ["a", "b"]}, "their asked differ"),
        ({"faults": {"d": VERDICT}}, "do not have each fault of the campaign once"),
        ({"faults": {"a": VERDICT, "b": VERDICT}}, "do not have each fault of the campaign once"),
        ({"tests": ["t", "u"]}, "their tests differ"),
        ({"versions": {"torch": "2.12.0"}}, "their versions differ"),
        ({"shard": [1, 2]}, "the shards 1/2, 1/2 came: give each of 1/2 to 2/2 once"),
        ({"shard": [2, 3]}, "the shards 1/2, 2/3 came"),
        ({"shard": None}, "holds a campaign without --shard"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(shards, tmp_path, other, message):
    odd = laid(tmp_path / "odd", **{"shard": [2, 2], "faults": {"b": VERDICT}, **other})

    with pytest.raises(ValueError, match=message):
        merge([shards[0], odd], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kept", [0, 1])
def test_a_missing_part_is_named(shards, tmp_path, kept):
    with pytest.raises(ValueError, match=f"the shards {kept + 1}/2 came: give each of 1/2 to 2/2 once"):
        merge([shards[kept]], tmp_path / "out")


def test_an_unfinished_part_is_refused(shards, tmp_path):
    (shards[1] / "summary.json").unlink()

    with pytest.raises(ValueError, match="finished campaign"):
        merge(shards, tmp_path / "out")


def test_nothing_to_merge_is_refused(tmp_path):
    with pytest.raises(ValueError, match="nothing to merge"):
        merge([], tmp_path / "out")


def test_a_shard_is_not_overwritten(shards):
    with pytest.raises(ValueError, match="is the folder of a shard"):
        merge(shards, shards[0])


def test_a_folder_that_is_given_twice_is_named(shards, tmp_path):
    with pytest.raises(ValueError, match="one was given 2 times"):
        merge([shards[0], shards[1], shards[0]], tmp_path / "out")

"""What of earlier campaigns may be used again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutation.cache import Run, disagreement, remembered, reusable, sample
from mutation.cells import Cell, Job, Ran
from mutation.journal import Journal, as_row, refuse_full_disk, runs

KINDS = ["pass", "skipped", "assert", "refusal", "error", "crash", "timeout", "uncollected"]


def row(kind, part="first", key="k", counted=()):
    return {"key": key, "part": part, "kind": kind, "counted": counted}


def run(*rows, end="complete"):
    return Run({}, rows, end)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["first", "effect", "full", "quick"])
def test_only_quiet_cells_hold_alone(kind, part):
    assert (kind in ("pass", "skipped")) == reusable({part: row(kind, part)})


@pytest.mark.parametrize("part", ["second", "again"])
def test_what_belongs_to_another_cell_does_not_hold_alone(part):
    assert not reusable({part: row("pass", part)})


@given(st.sampled_from(["assert", "refusal"]), st.sampled_from(KINDS))
def test_a_kill_holds_when_it_came_twice(first, second):
    assert (second in ("assert", "refusal")) == reusable({"first": row(first), "second": row(second, "second")})


def test_a_later_campaign_counts():
    assert {} == remembered([run(row("pass")), run(row("error"))])
    assert {"k"} == remembered([run(row("error")), run(row("pass"))]).keys()


def test_a_kill_that_came_again_must_come_twice_again():
    twice = run(row("assert"), row("assert", "second"))

    assert {"k"} == remembered([twice, twice]).keys()
    assert {} == remembered([twice, run(row("assert"))])


@pytest.mark.parametrize("end", ["void", ""])
def test_a_campaign_that_was_not_completed_adds_nothing_and_takes_what_it_contradicts(end):
    assert {} == remembered([run(row("pass"), end=end)])
    assert {"k"} == remembered([run(row("pass")), run(row("pass"), end=end)]).keys()
    assert {} == remembered([run(row("pass")), run(row("assert"), end=end)])


def test_a_baseline_that_counted_fewer_seams_does_not_replace_one_that_counted_more():
    more, fewer = row("pass", "full", counted=["a", "b"]), row("pass", "full", counted=["a"])

    assert more == remembered([run(more), run(fewer)])["k"]["full"]
    assert more == remembered([run(fewer), run(more)])["k"]["full"]


cells = st.sets(st.tuples(st.sampled_from("ab"), st.just("first"), st.text(max_size=2)))


@given(cells, st.floats(0, 1), st.integers())
def test_a_sample_is_a_share_and_the_seed_decides(idents, share, seed):
    drawn = sample(idents, share, seed)

    assert drawn <= idents
    assert drawn == sample(sorted(idents, reverse=True), share, seed)
    assert share * len(idents) <= len(drawn) <= share * len(idents) + 1
    assert drawn or not idents or share == 0


@pytest.mark.parametrize(
    ("said", "now", "told"),
    [
        (Cell("pass"), Cell("assert", "1 == 2"), "said 'pass', and now it is 'assert' (1 == 2)"),
        (Cell("assert", seconds=1.0), Cell("assert", "otherwise", 2.0), ""),
        (Cell("pass", hits={"a": 1}), Cell("pass", hits={"a": 5}), ""),
        (Cell("pass", hits={"a": 1}), Cell("pass"), "enters a"),
        (Cell("pass"), Cell("pass", hits={"a": 1}), "enters a"),
        (Cell("pass"), Cell("pass", hits={"b": 1}), ""),
    ],
)
def test_a_disagreement_is_told(said, now, told):
    assert told in disagreement(said, now, ["a"])
    assert bool(told) == bool(disagreement(said, now, ["a"]))


@pytest.mark.parametrize(
    ("cells", "stop", "left"),
    [
        ({}, True, ("a", "b", "c")),
        ({"a": "pass"}, True, ("b", "c")),
        ({"b": "assert"}, True, ()),
        ({"b": "refusal"}, True, ()),
        ({"b": "assert"}, False, ("a", "c")),
        ({"b": "error"}, True, ("a", "c")),
        ({"a": "timeout"}, False, ("b", "c")),
        ({"a": "timeout", "c": "timeout"}, False, ()),
    ],
)
def test_nothing_is_left_behind_a_kill_that_is_enough_or_two_tests_that_hang(cells, stop, left):
    job = Job("fault", "first", ("a", "b", "c"), None, stop_at_kill=stop)

    assert left == Ran(job, {test: Cell(kind) for test, kind in cells.items()}).left()


def journal_text(folder, count=3):
    """A journal of two campaigns, the second of which is not through."""
    journal = Journal(folder, {"mode": "first", "seed": 1}, resume=False)
    for number in range(count):
        journal.cell(as_row(("fault", "first", f"test_{number}"), Cell("pass", "ä\n"), "key", ()))
    journal.complete({"faults": {}}, [], [])
    journal.file.close()
    journal = Journal(folder, {"mode": "matrix", "seed": 2}, resume=False)
    journal.cell(as_row(("other", "first", "test_0"), Cell("assert"), "key", ()))
    journal.file.close()
    return (folder / "journal.jsonl").read_text()


def test_a_journal_torn_anywhere_holds_what_came_before_and_no_more(tmp_path):
    text = journal_text(tmp_path)
    lines = text.splitlines()

    for end in range(len(text)):
        whole = [json.loads(line) for line in text[: end + 1].splitlines() if line in lines]
        found = runs(text[: end + 1])
        assert [line for line in whole if "key" in line] == [one for told in found for one in told.rows]
        assert [line["end"] for line in whole if "end" in line] == [told.end for told in found if told.end]


def test_a_campaign_goes_on_behind_a_torn_line(tmp_path):
    (tmp_path / "journal.jsonl").write_text(journal_text(tmp_path)[:-10])

    journal = Journal(tmp_path, {"mode": "matrix", "seed": 3}, resume=True)
    journal.cell(as_row(("other", "first", "test_0"), Cell("pass"), "key", ()))
    journal.file.close()

    assert 2 == journal.plan["seed"]
    assert [] == journal.resumed
    first, second = runs((tmp_path / "journal.jsonl").read_text())
    assert 3 == len(first.rows)
    assert ["pass"] == [told["kind"] for told in second.rows]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [({"mode": "first"}, "begun with mode matrix, not first"), ({"mode": "matrix", "faults": ["a"]}, "faults None")],
)
def test_another_plan_is_not_resumed(tmp_path, plan, reason):
    before = journal_text(tmp_path)

    with pytest.raises(ValueError, match=reason):
        Journal(tmp_path, {**plan, "seed": 3}, resume=True)

    assert before == (tmp_path / "journal.jsonl").read_text()


@pytest.mark.parametrize("end", ["complete", "void"])
def test_a_campaign_that_has_ended_is_not_resumed(tmp_path, end):
    journal = Journal(tmp_path, {"seed": 1}, resume=False)
    journal.complete({"faults": {}}, [], []) if end == "complete" else journal.void()
    journal.file.close()

    with pytest.raises(ValueError, match=f"nothing to resume, the last campaign there is {end}"):
        Journal(tmp_path, {"seed": 1}, resume=True)


def test_a_folder_without_a_campaign_is_not_resumed(tmp_path):
    with pytest.raises(ValueError, match="no campaign has begun there"):
        Journal(tmp_path / "out", {"seed": 1}, resume=True)


def test_rows_of_an_earlier_campaign_are_kept_when_another_begins(tmp_path):
    before = journal_text(tmp_path)

    Journal(tmp_path, {"seed": 4}, resume=False).file.close()

    assert (tmp_path / "journal.jsonl").read_text().startswith(before)


def test_a_test_that_met_a_full_disk_stops_the_campaign():
    refuse_full_disk("call: OSError: [Errno 5] Input/output error")

    with pytest.raises(OSError, match="make room, then --resume"):
        refuse_full_disk("call: OSError: [Errno 28] No space left on device: 'checkpoint'")

"""The table and the life of a check say what the columns hold."""

from instrument.history.page import page
from instrument.history.table import Column, as_text, life


def cell(status, measured="token mean"):
    return {"group": "trainer", "expected": "token mean", "measured": measured, "status": status}


def column(release, status, measured="token mean"):
    return Column(release, {"transformers": release}, {"accumulation": cell(status, measured)})


def test_a_fault_that_was_mended_and_came_back_is_told_in_three_stretches():
    columns = [column("1", "FAULT", "a"), column("2", "FAULT", "a"), column("3", "ok"), column("4", "FAULT", "a")]

    assert life(columns, "accumulation") == "1 to 2: FAULT (a); 3: ok; 4: FAULT (a)"


def test_two_faults_of_different_names_are_two_stretches():
    columns = [column("1", "FAULT", "a: targets weigh 1"), column("2", "FAULT", "b: targets weigh 1")]

    assert life(columns, "accumulation") == "1: FAULT (a); 2: FAULT (b)"


def test_the_numbers_behind_a_name_do_not_end_a_stretch():
    columns = [column("1", "FAULT", "a, M = 4"), column("2", "FAULT", "a, M = 2")]

    assert life(columns, "accumulation") == "1 to 2: FAULT (a)"


def test_a_release_that_did_not_run_costs_its_column_and_nothing_else():
    lines = as_text([column("1", "ok"), Column("2", {}, {}, "does not install: no wheel"), column("3", "ok")])

    assert lines[0].split() == ["check", "1", "3"]
    assert lines[1].split() == ["accumulation", "ok", "ok"]
    assert "accumulation: 1 to 3: ok" in lines
    assert "2: does not install: no wheel" in lines


def test_the_page_shows_every_release_and_escapes_what_was_said():
    shown = page("transformers", [column("1", "FAULT", "<b>"), Column("2", {}, {}, "does not run")])

    assert "<th>1</th>" in shown and "<th>2</th>" in shown and "does not run" in shown
    assert "<b>)" not in shown and "&lt;b&gt;" in shown

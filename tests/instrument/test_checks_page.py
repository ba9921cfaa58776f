"""docs/checks.md is what a run of the report gives; what the page leaves out, and what of a run it is written from."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instrument import checks
from instrument.report import as_json, as_page

PAGE = Path(__file__).parents[2] / "docs/checks.md"
WORDS = st.text("abcxyz 0123.:,", min_size=1).map(str.strip).filter(bool)


def a_check(name="SFT", group="trl", status="ok", expected="a", measured="b", **report):
    """A check as the report's JSON has it."""
    return {
        "name": name,
        "group": group,
        "status": status,
        "expected": expected,
        "measured": measured,
        "report": report,
    }


@pytest.mark.slow
@pytest.mark.drivers
@pytest.mark.parametrize("group", ["trainer", "accelerate", "leaks", "peft"])
def test_a_check_is_what_its_page_says(group):
    written = PAGE.read_text("utf-8")

    for told in as_json.outcomes(list(checks.run_checks(group)))["checks"]:
        assert as_page.line(told, as_page.labels_of(written)) in written.splitlines()


def test_the_page_has_every_check_once_and_in_the_order_of_the_report():
    found = [line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text("utf-8").splitlines() if "|" in line]
    expected = [check.name for check in checks.all_checks()]

    assert expected == [name for name in found if name not in ("check", "---")]


@given(st.lists(st.dictionaries(WORDS, WORDS, max_size=3), min_size=1, max_size=60))
@example([{"a": str(n)} for n in range(60)])
def test_each_change_has_letters_of_its_own_and_each_check_its_changes(many):
    given = [a_check(str(number), changes=changes) for number, changes in enumerate(many)]
    written = as_page.page(given)
    stands_for = {label: text for text, label in as_page.labels_of(written).items()}
    rows = [line for line in written.splitlines() if line.startswith("| ")][2:]

    assert len(rows) == len(many)
    for row, changes in zip(rows, many):
        told = row.removesuffix("|").rpartition(" | ")[2].split()
        assert [f"`{name}` = {text}" for name, text in changes.items()] == [stands_for[label] for label in told]
        assert row == as_page.line(given[rows.index(row)], as_page.labels_of(written))


@given(st.lists(st.lists(st.lists(st.sampled_from([0.0, 0.5, -1e-12]), max_size=4), min_size=1), min_size=1))
def test_a_run_is_given_window_by_window_with_the_tokens_that_weigh(batches):
    windows = [[{"numbers": list(range(len(rows))), "expected": rows}] * 2 for rows in batches]
    told = as_page.line(a_check(windows=windows), {}).split("`")[1].split(" / ")
    one = [" ".join(f"{n}:{len(row) - row.count(0.0)}" for n, row in enumerate(rows)) for rows in batches]

    assert [f"{batch} + {batch}" for batch in one] == told


def test_rows_of_a_probed_window_stand_by_micro_batch():
    rows = [{"micro_batch": at, "intended": [True] * n} for n, at in enumerate([1, 0, 1])]

    assert "1:1 + 0:0 2:2" == as_page.by_micro_batch(rows)


def test_a_search_is_given_by_its_documents():
    told = as_page.line(a_check(instrument="leak", sequences=[{}] * 3, pairs=[{}] * 2), {})

    assert "| SFT | ok | a | b | `3 documents, 2 times one reads another` |  |" == told


@pytest.mark.parametrize(
    ("measured", "told"),
    [
        ("logged 4.065661, objective 4.0657", "logged ..., objective ..."),
        ("beta=0.125 and 1.0001", "beta=0.125 and ..."),
    ],
)
def test_figures_in_which_machines_differ_are_left_out(measured, told):
    assert f"| SFT | ok | a | {told} |  |  |" == as_page.line(a_check(measured=measured), {})


def test_a_bar_in_a_text_is_no_cell():
    assert "| \\|w - e\\| | ok | a | b |  |  |" == as_page.line(a_check("|w - e|"), {})


@pytest.mark.spawn
def test_the_command_writes_the_page_and_fails_where_it_is_another(tmp_path):
    def run(*words):
        command = [sys.executable, "-m", "instrument.report", *words]
        wide = {**os.environ, "COLUMNS": "400"}
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=wide)

    report = [a_check("one", changes={"beta": "2"}), a_check("two", group="leaks", status="known")]
    (tmp_path / "report.json").write_text(json.dumps({"checks": report}))
    (tmp_path / "bad.json").write_text("{}")
    written = run("report.json")
    (tmp_path / "page.md").write_text(written.stdout)
    held = run("report.json", "--held", "page.md")
    (tmp_path / "page.md").write_text(written.stdout.replace("known", "ok"))
    other = run("report.json", "--held", "page.md")

    assert as_page.page(report) == written.stdout
    assert (0, "") == (held.returncode, held.stderr)
    assert 1 == other.returncode
    assert "page.md is not what this run gives: python -m instrument.report report.json > page.md" in other.stderr
    assert "KeyError('checks'): give what weighbridge report --json FILE wrote" in run("bad.json").stderr
    assert "No such file" in run("report.json", "--held", "no.md").stderr

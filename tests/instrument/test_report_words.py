"""A report shows every word as it was given, on one line, brackets and all."""

from dataclasses import replace

import pytest

from instrument.report import as_text
from instrument.verdict import judge
from tests.instrument.records import a_record, a_row, a_window

LONG = "[bold]" + " ".join(["word"] * 40) + "[/]"


def a_report(record=None, **verdict):
    """The lines of a report whose verdict, or whose record, says something else."""
    record = record or a_record(a_window(a_row([1 / 2, 1 / 2])))
    return as_text.table(record, [replace(judge(record, record.windows[0]), **verdict)]).splitlines()


def saying(**words):
    """A record in which something was written down."""
    return replace(a_record(a_window(a_row([1 / 2, 1 / 2]))), **words)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"faults": (LONG,)}, f"FAULT: {LONG}"),
        ({"faults": ("a", LONG)}, f"  {LONG}"),
        ({"faults": (), "remarks": (LONG,)}, f"  {LONG}"),
    ],
)
def test_a_verdict_is_given_word_for_word(words, line):
    assert line in a_report(**words)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"where": LONG}, f"read at {LONG} (live)"),
        ({"changes": {LONG: "[red]"}}, f"changed from the default: {LONG} = [red]"),
        ({"notes": [LONG]}, LONG),
    ],
)
def test_a_record_is_given_word_for_word(words, line):
    assert line == a_report(saying(**words))[-1][-len(line) :]


@pytest.mark.parametrize(
    ("same", "shown"),
    [
        ((), "w = x"),
        (("a",), "w = x (on these rows the same as: a)"),
        (("a", "b"), "w = x (on these rows the same as: a, b)"),
    ],
)
def test_what_fits_as_well_is_listed_behind_the_equation(same, shown):
    first, *_ = a_report(faults=(), name="token mean", equation="x", same=same)

    assert f"OK: every target weighs the same, token mean, {shown}" == first


def test_another_form_that_was_expected_is_told_as_such():
    first, *_ = a_report(faults=(), name="f", equation="x", same=())

    assert "OK: targets weigh as expected, f, w = x" == first

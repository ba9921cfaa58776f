"""The text of a report is the same on every terminal: 120 columns, no colour."""

import numpy as np
import pytest

from instrument.report import as_text
from instrument.verdict import judge
from tests.instrument.records import a_record, a_row, a_window


def text(size=1.0):
    """A report on rows whose weights take as many characters as `size` asks for."""
    window = a_window(a_row([1 / 8] * 8, cosines=np.linspace(0.5, 1, 8)), a_row([size] * 8, micro_batch=1))
    record = a_record(window)
    return as_text.table(record, [judge(record, window)])


@pytest.mark.parametrize("variable", [{"COLUMNS": "50"}, {"FORCE_COLOR": "1"}, {"COLUMNS": "300"}])
def test_the_terminal_changes_nothing(monkeypatch, variable):
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    plain = text()
    for name, value in variable.items():
        monkeypatch.setenv(name, value)

    assert plain == text()
    assert "\x1b" not in plain


def test_rows_that_are_too_wide_are_broken_at_120_columns():
    header, first = text(1e20).splitlines()[1:3]

    assert header.endswith("  cosine")
    assert 120 == len(first)

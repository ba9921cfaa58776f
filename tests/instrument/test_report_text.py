"""The text of a report: the verdict first, every weight as a multiple of 1/N, nothing cut off."""

import re

import numpy as np
import pytest
import torch

from instrument import make_batch, watch, xray
from instrument.report import as_text
from tests.instrument import models
from tests.instrument.records import a_record, a_row, a_window


def train(model, rows):
    model(**make_batch(rows)).loss.backward()


def lines(report):
    return str(report).splitlines()


def test_the_verdict_comes_first():
    report = xray(train, [4, 3])

    assert lines(report)[0].startswith("OK: every target weighs the same, token mean, w = 1/N")
    assert str(report) == report.table()


def test_a_fault_is_named_first_and_the_others_below():
    def step(model, rows):
        for row in rows:
            (2 * model(**make_batch([row])).loss).backward()
            torch.optim.SGD(model.parameters(), lr=0.0).step()

    report = xray(step, [4, 3])

    assert lines(report)[0].startswith("window 0: FAULT: token weights follow the token mean times 2 (2/N)")
    assert any(re.match("  .*did not run in this window", line) for line in lines(report))


def test_forms_that_fit_as_well_are_told():
    assert "on these rows the same as: per-sequence mean" in lines(xray(train, [4, 4]))[0]


def test_each_row_is_a_line_of_weights_times_n():
    table = lines(xray(train, [4, 3]))

    header = next(n for n, line in enumerate(table) if line.startswith("row"))
    assert ["row", "micro-batch", "targets", "w*N", "cosine"] == table[header].split()
    assert ["0", "0", "3", "1.0000", "1.0000", "1.0000", "1.000000"] == table[header + 1].split()
    assert ["1", "0", "2", "1.0000", "1.0000", "1.000000"] == table[header + 2].split()


def test_an_unlabelled_token_is_a_dot_and_a_weight_of_zero_a_number():
    row = a_row(weights=[0.0, 0.0, 1 / 2], scored=[False, True, True])

    assert ". 0.0000 1.0000" == as_text.weights_of(row, 2)


def test_a_long_row_is_told_by_its_range():
    row = a_row(weights=[0.01, 0.02, 0.06] * 10 + [0.0], scored=[True] * 30 + [False])

    assert "1.0000 to 6.0000, median 2.0000" == as_text.weights_of(row, 100)


def test_a_long_row_without_labels_says_so():
    assert "12 unlabelled" == as_text.weights_of(a_row(weights=[0.0] * 12, scored=[False] * 12), 5)


def test_the_smallest_cosine_of_the_scored_targets_is_shown():
    row = a_row(weights=[0.1, 0.1, 0.1], scored=[True, True, False], cosines=[0.9, np.nan, 0.1])

    assert "0.900000" == as_text.cosine_of(row)
    assert "-" == as_text.cosine_of(a_row(weights=[0.0], scored=[False]))


def test_a_window_ends_with_its_counts():
    report = xray(train, [4, 3])

    closing = next(line for line in lines(report) if line.startswith("5 targets in 2 rows and 1 micro-batches"))
    assert "19 of 19 trainable parameters reached" in closing
    assert f"loss {report.windows[0].objective():.6g}" in closing
    assert "read at the embedding of each input token (probe)" in closing


def test_windows_are_numbered_when_there_are_several():
    model = models.llama()

    with watch(model) as report:
        for row in ([5, 6, 7], [8, 9]):
            train(model, [row])
            torch.optim.SGD(model.parameters(), lr=0.0).step()
            model.zero_grad()

    assert ["window 0: OK", "window 1: OK"] == [line[:12] for line in lines(report) if line.startswith("window")]


def test_carried_rows_are_shown_apart():
    record = a_record(a_window(a_row(weights=[1 / 2, 1 / 2]), carried=[a_row(weights=[1 / 4])]))

    text = as_text.table(record, [verdict_of(record)])

    assert re.search(r"^carried +- +0 +0\.5000 +1\.000000$", text, re.MULTILINE)


def verdict_of(record):
    from instrument import verdict

    return verdict.judge(record, record.windows[0])


def test_changed_defaults_and_notes_are_listed():
    record = a_record(a_window(a_row(weights=[1.0])))
    record.changes["max_grad_norm"], record.notes = "0: no [clipping]", ["one note"]

    text = as_text.table(record, [verdict_of(record)]).splitlines()

    assert ["changed from the default: max_grad_norm = 0: no [clipping]", "one note"] == text[-2:]


def test_no_line_of_the_verdict_is_cut():
    record = a_record(a_window(a_row(weights=[3.0, 2.0]), a_row(weights=[1.0]), micro_batches=1))

    text = as_text.table(record, [verdict_of(record)]).splitlines()

    assert text[0].startswith("FAULT: token weights follow none of")
    assert text[0].endswith("of a token-mean weight")


@pytest.mark.parametrize(("targets", "shown"), [(2, "? ?"), (12, "12 that cannot be read")])
def test_weights_that_are_not_known_are_no_numbers(targets, shown):
    row = a_row(weights=[np.nan] * targets, amplification=np.inf)

    assert shown == as_text.weights_of(row, targets)

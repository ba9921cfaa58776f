"""What a user calls, and what a report then says."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument import Report, tracer_rows, watch, xray, xray_rows
from tests.instrument import models
from tests.instrument.loops import train
from tests.instrument.records import a_record, a_row, a_window


def row_by_row(model, rows):
    """One window per row."""
    for row in rows:
        train(model, [row])
        torch.optim.SGD(model.parameters(), lr=0.0).step()
        model.zero_grad()


@given(st.lists(st.integers(2, 8), min_size=1, max_size=5), st.integers(0, 2**16))
def test_a_plain_step_is_a_token_mean_in_the_order_of_the_lengths(lengths, seed):
    report = xray(train, lengths, seed)

    report.assert_token_mean()
    report.assert_pure_rescaling()
    assert report.ok
    assert lengths == [len(row.ids) for row in report.rows]
    assert tracer_rows(lengths, seed) == [row.ids.tolist() for row in report.rows]


def test_the_order_of_the_rows_is_the_callers_though_the_step_shuffles():
    report = xray(lambda model, rows: train(model, rows[::-1]), [3, 6, 4])

    assert [3, 6, 4] == [len(row.ids) for row in report.rows]


def test_what_a_step_returns_is_ignored():
    xray(lambda model, rows: train(model, rows) or "anything", [3, 4]).assert_token_mean()


def test_the_same_seed_measures_the_same():
    assert xray(train, [3, 4], seed=5).to_json() == xray(train, [3, 4], seed=5).to_json()
    assert xray(train, [3, 4], seed=5).to_json() != xray(train, [3, 4], seed=6).to_json()


def test_a_seed_is_also_that_of_the_probes_weights():
    rows = [[5, 9, 7], [8, 6]]

    losses = [xray_rows(train, rows, seed).windows[0].objective() for seed in (5, 5, 6)]

    assert losses[0] == losses[1] != losses[2]


def test_marks_say_which_targets_should_be_scored():
    labelled = [[True, False, True], [False, True]]

    def step(model, rows):
        labels = [[-100, *(i if m else -100 for i, m in zip(row[1:], marks))] for row, marks in zip(rows, labelled)]
        train(model, rows, labels)

    report = xray(step, [4, 3], labelled=labelled)

    report.assert_token_mean()
    assert report.ok
    np.testing.assert_allclose(report.weights[0], [1 / 3, 0, 1 / 3], rtol=1e-6)
    np.testing.assert_allclose(report.weights[1], [0, 1 / 3], rtol=1e-6)


def test_a_report_of_several_windows_gives_their_rows_one_after_the_other():
    report = xray(row_by_row, [4, 3, 6])

    report.assert_token_mean()
    assert report.ok
    assert 3 == len(report.windows) == len(report.verdicts)
    for weight, n in zip(report.weights, (3, 2, 5)):
        np.testing.assert_allclose(weight, [1 / n] * n, rtol=1e-6)


def test_a_watched_report_grows_with_every_window():
    model, seen = models.llama(), []

    with watch(model) as report:
        for row in ([5, 6, 7], [8, 9, 5, 6]):
            row_by_row(model, [row])
            seen.append(len(report.windows))

    assert [1, 2] == seen
    assert isinstance(report, Report)
    report.assert_token_mean()


def test_json_holds_all_that_was_measured_and_no_nan(tmp_path):
    model = models.llama()
    with watch(model) as report:
        train(model, [[5, 6, 7, 8], [8, 9]], [[-100, 6, -100, 8], [8, 9]])
    path = tmp_path / "report.json"

    text = report.to_json(path)

    assert text + "\n" == path.read_text()
    found = json.loads(text, parse_constant=pytest.fail)
    row = found["windows"][0]["rows"][0]
    assert [5, 6, 7, 8] == row["ids"]
    assert [True, False, True] == row["scored"]
    assert row["weight"][0] == report.rows[0].weight[0]
    assert [None] * 3 == row["uniform_loss"]
    assert (0.0, None, None) == (row["weight"][1], row["cosine"][1], row["loss"][1])
    assert "token mean" == found["windows"][0]["verdict"]["name"]
    assert [] == found["windows"][0]["verdict"]["faults"]
    assert models.VOCABULARY == found["vocabulary"]
    assert ("float32", "float32", "live") == (found["work_dtype"], found["loss_dtype"], found["instrument"])
    assert torch.__version__.startswith(found["versions"]["torch"])


def test_json_of_an_unreadable_window_holds_no_nan():
    report = Report(a_record(a_window(a_row([np.nan], amplification=np.inf), padding=math.inf)))

    found = json.loads(report.to_json(), parse_constant=pytest.fail)

    assert found["windows"][0]["rows"][0]["weight"] == [None]
    assert found["windows"][0]["padding"] is None


def test_a_report_prints_as_its_table():
    report = xray(train, [4, 3])

    assert report.table() == str(report) == f"{report}"
    assert "OK: every target weighs the same, token mean, w = 1/N" in str(report)


def test_rows_of_ones_own_are_measured_as_tracers_are():
    rows = [[5, 9, 7], [8, 6]]

    report = xray_rows(train, rows)

    report.assert_token_mean()
    assert rows == [row.ids.tolist() for row in report.rows]
    assert [9, 7] == report.rows[0].target.tolist()

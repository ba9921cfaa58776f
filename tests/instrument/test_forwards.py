"""What a forward was about: its token ids, its labels, its padding, and which rows of the probe it ran."""

import numpy as np
import pytest
import torch

from instrument import make_batch, tracer_rows, watch, xray
from instrument.capture import Capture
from instrument.forward import describe
from instrument.record import padding_share
from tests.instrument import models
from tests.instrument.loops import ROWS


def captured(call, **more):
    """The Forward that the capture hands over."""
    model, seen = models.written(), []
    capture = Capture(
        model, model.norm, "the norm", lambda forward, output, gradient: seen.append(forward), lambda w: None
    )
    with capture:
        call(model, **more).sum().backward()
    return seen[0]


def test_labels_are_put_in_place_of_the_token_that_predicts_them():
    tokens = torch.tensor([[5, 6, 7]])

    forward = captured(lambda model: model(tokens, labels=torch.tensor([[5, -100, 7]])))

    assert [[-100, 7, -100]] == forward.labels.tolist()
    assert [[5, 6, 7]] == forward.input_ids.tolist()


@pytest.mark.parametrize("call", [lambda m, t, y: m(t, y), lambda m, t, y: m(labels=y, tokens=t)])
def test_arguments_are_known_by_name_however_they_are_passed(call):
    tokens, labels = torch.tensor([[5, 6, 7]]), torch.tensor([[-100, 6, 7]])

    forward = captured(lambda model: call(model, tokens, labels))

    assert [[5, 6, 7]] == forward.input_ids.tolist()
    assert [[6, 7, -100]] == forward.labels.tolist()


def test_token_ids_are_the_whole_numbers_among_the_arguments():
    class Weighted(models.Written):
        def forward(self, weights, scale, mask, tokens):
            return super().forward(tokens)

    model, seen = models.seeded(Weighted), []
    capture = Capture(model, model.norm, "the norm", lambda forward, output, gradient: seen.append(forward), print)
    tokens = torch.tensor([[5, 6, 7]])

    with capture:
        model(torch.ones(1, 3), torch.tensor(2), tokens > 5, tokens).sum().backward()

    assert [[5, 6, 7]] == seen[0].input_ids.tolist()


def test_labels_that_were_shifted_already_are_taken_as_they_are():
    model = models.llama()
    batch = make_batch([ROWS[0]])
    shifted = torch.tensor([[9, -100, 5, 11, 6, -100]])

    with watch(model) as report:
        model(**batch, shift_labels=shifted).loss.backward()

    assert [True, False, True, True, True] == report.rows[0].scored.tolist()
    report.assert_token_mean()


@pytest.mark.parametrize("name", ["shift_labels", "targets"])
def test_what_stands_where_it_is_scored_is_not_shifted_again(name):
    where = torch.tensor([[6, -100, 7]])
    hidden = torch.zeros(1, 3, 4)

    forward = describe({"input_ids": torch.tensor([[5, 6, 7]]), name: where, "labels": None}, hidden, 0, "the norm")

    assert where.tolist() == forward.labels.tolist()


def test_padding_is_left_out_of_the_rows():
    model = models.llama()

    with watch(model) as report:
        model(**make_batch(ROWS, padding_side="left")).loss.backward()

    assert [list(row) for row in ROWS] == [row.ids.tolist() for row in report.rows]


def test_gradient_on_padding_is_told_even_when_no_token_beside_it_has_any():
    model, batch, other = models.llama(), make_batch([ROWS[2]], pad_to=6), make_batch([ROWS[1]])
    batch["labels"] = torch.tensor([[-100, -100, -100, -100, 7, 8]])

    with watch(model) as report:
        model(**batch).loss.backward()
        model(**other).loss.backward()

    assert 0 < report.windows[0].padding < float("inf")
    assert any("reaches padding" in fault for fault in report.verdicts[0].faults)
    with pytest.raises(AssertionError, match="reaches padding"):
        report.assert_weights([[], [1 / 4] * 4])


@pytest.mark.parametrize(
    ("sizes", "share"),
    [
        ([(0.0, 2.0)], 0.0),
        ([(0.0, 0.0)], 0.0),
        ([(1.0, 2.0)], 1 / 2),
        ([(1.0, 2.0), (3.0, 4.0)], 3 / 4),
        ([(1.0, 0.0), (0.0, 4.0)], 1 / 4),
        ([(1.0, 0.0)], float("inf")),
    ],
)
def test_the_share_of_padding_is_taken_over_a_whole_window(sizes, share):
    assert share == padding_share(sizes)


def test_rows_that_share_their_first_token_are_told_apart():
    from instrument import xray_rows

    def step(model, rows):
        for row in rows:
            (model(**make_batch([row])).loss / 2).backward()

    report = xray_rows(step, [[5, 6, 7], [5, 8, 9, 10]])

    np.testing.assert_allclose(report.weights[0], [1 / 4] * 2, rtol=1e-5)
    np.testing.assert_allclose(report.weights[1], [1 / 6] * 3, rtol=1e-5)
    assert [0, 1] == [row.micro_batch for row in report.rows]


def test_a_row_that_begins_inside_another_is_found_where_it_ran():
    from instrument import xray_rows

    def step(model, rows):
        for row in rows:
            (model(**make_batch([row])).loss / 2).backward()

    report = xray_rows(step, [[6, 8, 10, 11], [5, 6, 7]])

    assert "mean of micro-batch means, M = 2" == report.verdicts[0].name
    assert [0, 1] == [row.micro_batch for row in report.rows]


def test_packed_rows_are_found_behind_one_another():
    def step(model, rows):
        ids = torch.tensor([[i for row in rows for i in row]])
        labels = torch.tensor([[i for row in rows for i in (-100, *row[1:])]])
        model(input_ids=ids, labels=labels).loss.backward()

    report = xray(step, [3, 5, 4])

    report.assert_token_mean()
    assert tracer_rows([3, 5, 4]) == [row.ids.tolist() for row in report.rows]

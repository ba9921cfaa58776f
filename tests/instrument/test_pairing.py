"""Forwards and backwards need not come in pairs: each gradient is read for the forward that it belongs to."""

import numpy as np
import pytest
import torch

from instrument import make_batch, watch, xray
from tests.instrument import models
from tests.instrument.loops import ROWS, assert_window_weights, batches, sgd


def test_a_forward_without_backward_is_forgotten():
    model, (first, second, _) = models.llama(), batches()

    with watch(model) as report:
        model(**first)
        model(**second).loss.backward()

    assert_window_weights([[1 / 4]], report)
    assert list(ROWS[1]) == report.rows[0].ids.tolist()
    assert 1 == report.windows[0].forwards


def test_a_forward_without_gradients_is_not_noted():
    model, (first, second, _) = models.llama(), batches()

    with watch(model) as report:
        with torch.no_grad():
            model(**first)
        model(**second).loss.backward()
        with torch.inference_mode():
            model(**first)

    assert_window_weights([[1 / 4]], report)


def test_a_detached_branch_is_forgotten():
    model, (first, second, _) = models.llama(), batches()

    with watch(model) as report:
        (model(**first).loss.detach() * model(**second).loss).backward()

    assert list(ROWS[1]) == report.rows[0].ids.tolist()
    assert 1 == len(report.rows)


def test_two_forwards_of_one_backward_are_read_apart():
    model, (first, second, _) = models.llama(), batches()

    with watch(model) as report:
        (0.25 * model(**first).loss + 0.75 * model(**second).loss).backward()

    by_ids = {tuple(row.ids): row.weight for row in report.rows}
    np.testing.assert_allclose(by_ids[ROWS[0]], [0.25 / 5] * 5, rtol=1e-6)
    np.testing.assert_allclose(by_ids[ROWS[1]], [0.75 / 4] * 4, rtol=1e-6)
    assert (1, 2) == (report.windows[0].micro_batches, report.windows[0].forwards)


def test_one_forward_of_two_backwards_counts_twice():
    model, (first, _, _) = models.llama(), batches()

    with watch(model) as report:
        loss = model(**first).loss
        loss.backward(retain_graph=True)
        loss.backward()

    assert_window_weights([[1 / 5, 1 / 5]], report)
    assert [0, 1] == [row.micro_batch for row in report.rows]


def test_one_forward_of_two_backwards_adds_up_in_the_parameters():
    def step(model, rows):
        loss = model(**make_batch(rows)).loss
        loss.backward(retain_graph=True)
        loss.backward()

    report = xray(step, [4, 6])

    np.testing.assert_allclose(np.concatenate(report.weights), [2 / 8] * 8, rtol=1e-6)
    assert "token mean times M = 2" == report.verdicts[0].name
    assert not report.ok


def test_a_gradient_asked_for_by_hand_is_seen():
    model, (first, _, _) = models.llama(), batches()

    with watch(model) as report:
        loss = model(**first).loss
        torch.autograd.grad(loss, list(model.parameters()))

    assert_window_weights([[1 / 5]], report)
    assert 0 == report.windows[0].reached
    assert not report.ok


def test_a_backward_that_raised_does_not_swallow_the_next():
    model, (first, second, third) = models.llama(), batches()
    optimizer = sgd(model)

    with watch(model) as report:
        handle = model.model.layers[0].register_full_backward_hook(lambda *_: 1 / 0)
        broken = model(**first).loss
        with pytest.raises(ZeroDivisionError):
            broken.backward()
        handle.remove()
        optimizer.step()
        optimizer.zero_grad()
        model(**second).loss.backward()
        model(**third).loss.backward()
        optimizer.step()

    assert [1, 2] == [window.micro_batches for window in report.windows]

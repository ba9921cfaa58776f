"""A window ends where an optimizer of the model steps; a gradient that outlives it is told."""

import numpy as np
import pytest
import torch
from torch import nn

from instrument import make_batch, watch, xray
from tests.instrument import models
from tests.instrument.loops import assert_window_weights, batches, sgd


def test_an_optimizer_of_another_model_ends_no_window():
    model, other = models.llama(), nn.Linear(2, 2)
    mine, theirs = sgd(model), sgd(other)

    with watch(model) as report:
        for batch in batches():
            model(**batch).loss.backward()
            other(torch.ones(2)).sum().backward()
            theirs.step()
        mine.step()

    assert_window_weights([[1 / 5, 1 / 4, 1 / 2]], report)
    assert report.windows[0].stepped


def test_two_optimizers_of_one_model_end_a_window_once():
    model = models.llama()
    head = torch.optim.SGD(model.lm_head.parameters(), lr=0.1)
    body = torch.optim.AdamW(model.model.parameters(), lr=0.1)

    with watch(model) as report:
        for batch in batches():
            model(**batch).loss.backward()
            for optimizer in (head, body):
                optimizer.step()
                optimizer.zero_grad()

    assert_window_weights([[1 / 5], [1 / 4], [1 / 2]], report)


def test_steps_without_a_backward_are_no_windows():
    model = models.llama()
    optimizer = sgd(model)

    with watch(model) as report:
        optimizer.step()
        model(**batches()[0]).loss.backward()
        optimizer.step()
        optimizer.step()

    assert 1 == len(report.windows)


def test_what_no_step_followed_is_a_window_and_says_so():
    model = models.llama()
    optimizer = sgd(model)

    with watch(model) as report:
        for batch in batches()[:2]:
            model(**batch).loss.backward()
            optimizer.step()
        model(**batches()[2]).loss.backward()

    assert [True, True, False] == [window.stepped for window in report.windows]
    assert ("no optimizer step followed",) == report.verdicts[2].remarks


def test_weights_are_read_before_the_step_moves_the_parameters():
    def step(model, rows):
        optimizer = sgd(model, lr=1.0)
        for row in rows:
            model(**make_batch([row])).loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    xray(step, [4, 6, 3]).assert_token_mean()


def test_what_happens_to_the_gradient_after_backward_is_not_in_the_weights():
    def step(model, rows):
        optimizer = sgd(model)
        model(**make_batch(rows)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        optimizer.step()

    xray(step, [4, 6, 3]).assert_token_mean()


def test_a_gradient_that_is_never_zeroed_shows_as_carried_rows():
    def step(model, rows):
        optimizer = sgd(model)
        for row in rows:
            model(**make_batch([row])).loss.backward()
            optimizer.step()

    report = xray(step, [4, 6, 3])

    assert [[], [4], [4, 6]] == [[len(row.ids) for row in window.carried] for window in report.windows]
    np.testing.assert_allclose(report.windows[2].carried[1].weight, [1 / 5] * 5, rtol=1e-6)
    assert [0, 1, 2] == [
        sum("did not run in this window" in f for f in v.faults) * n for n, v in enumerate(report.verdicts)
    ]
    with pytest.raises(AssertionError, match="still holds 1 rows that did not run"):
        report.assert_token_mean()


def test_a_gradient_that_is_zeroed_carries_nothing():
    def step(model, rows):
        for row in rows:
            model(**make_batch([row])).loss.backward()
            sgd(model).step()
            model.zero_grad()

    assert [[], [], []] == [window.carried for window in xray(step, [4, 6, 3]).windows]

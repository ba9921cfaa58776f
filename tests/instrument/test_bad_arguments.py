"""Lengths, rows, marks and batches that mean nothing: one error that says what came, the rule and what to do."""

import numpy as np
import pytest
import torch

from instrument import find_leaks, make_batch, watch, xray, xray_rows
from tests.instrument import models
from tests.instrument.loops import train
from tests.instrument.messages import says


@pytest.mark.parametrize("lengths", [[], (), np.array([], dtype=int)])
def test_no_lengths(lengths):
    with pytest.raises(ValueError, match=says("lengths=[] holds no row", "give the number of tokens of each row")):
        xray(train, lengths)


def test_lengths_may_be_an_array():
    xray(train, np.array([3, 4])).assert_token_mean()


@pytest.mark.parametrize("length", [1, 0, -3])
def test_a_row_without_a_target(length):
    with pytest.raises(
        ValueError, match=says(f"lengths[1]={length}", "at least 2 tokens", "drop the row or lengthen it")
    ):
        xray(train, [4, length, 1])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], says("rows=[] holds no row", "give the token ids")),
        ([[5, 6], [7]], says("rows[1] holds 1 tokens", "at least 2")),
        ([[5, 6], []], says("rows[1] holds 0 tokens", "at least 2")),
        ([[5, 0, 7]], says("id 0 is an input", "padding", "use others")),
        ([[5, 6, 7], [8, 5, 6]], says("pair of input and target (5, 6) occurs 2 times", "give each row its own ids")),
        ([[5, 6], [5, 6]], says("pair of input and target (5, 6) occurs 2 times")),
    ],
)
def test_rows_that_cannot_be_told_apart(rows, message):
    with pytest.raises(ValueError, match=message):
        xray_rows(train, rows)


def test_marks_that_do_not_fit_the_rows():
    with pytest.raises(
        ValueError, match=says("labelled has rows of [3] marks for rows of [3] tokens", "one mark per target")
    ):
        xray(train, [3], labelled=[[True, True, True]])


def test_more_targets_of_one_input_than_can_be_told_apart():
    rows = [[3 + n, 1, 70 + n] for n in range(64)]

    with pytest.raises(
        ValueError, match=says("input 1: 64 targets share one input", "hidden size of 64", "at most 63")
    ):
        xray_rows(train, rows)


@pytest.mark.parametrize("side", ["middle", "Left", None])
def test_an_unknown_padding_side(side):
    with pytest.raises(ValueError, match=says(f"padding_side={side!r}", "must be 'left' or 'right'")):
        make_batch([[5, 6]], padding_side=side)


def test_a_batch_of_nothing():
    with pytest.raises(ValueError, match=says("rows=[] holds no row")):
        make_batch([])


def test_labels_that_do_not_fit_the_rows_of_a_batch():
    with pytest.raises(ValueError, match=says("labels of lengths [2] for rows of lengths [3]", "one label per token")):
        make_batch([[5, 6, 7]], [[6, 7]])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: xray(None, [3, 4]), says("step is None", "give a function, step(model, rows)")),
        (lambda: xray(train, 5), says("lengths=5", "in a list")),
        (lambda: make_batch(None), says("rows=None", "the token ids of each row")),
        (lambda: make_batch([5, 6]), says("rows=[5, 6]", "the token ids of each row")),
        (lambda: make_batch(["abc"]), says("rows=['abc']", "the token ids of each row")),
        (lambda: xray(train, [3, 4]).assert_weights(None), says("expected=None", "one for each target")),
        (lambda: find_leaks(models.llama(), make_batch([[5, 6]]), loss="mean"), says("loss='mean'", "-> scalar")),
    ],
)
def test_an_argument_of_another_kind_is_refused_in_its_own_words(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()


@pytest.mark.parametrize("limit", [-1.0, 0, float("nan"), "1"])
def test_a_limit_of_a_clip_that_is_none(limit):
    model = models.llama()

    with pytest.raises(ValueError, match=says(f"max_norm={limit!r}", "a number above 0")):
        watch(model, torch.optim.SGD(model.parameters()), max_norm=limit)


def test_an_optimizer_of_another_model():
    with pytest.raises(ValueError, match=says("optimizer= holds no parameter of", "give the one that trains it")):
        watch(models.llama(), torch.optim.SGD(models.llama().parameters()))

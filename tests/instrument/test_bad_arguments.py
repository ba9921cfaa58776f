"""Lengths, rows, marks and batches that mean nothing: one error that says what came, the rule and what to do."""

import numpy as np
import pytest

from instrument import make_batch, xray, xray_rows
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

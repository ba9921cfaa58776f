"""Weights at the logits equal what a loss was made of, whatever its labels are; each against full autograd."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from instrument.logits import CLASSES, LABELS, VALUES, kind_of, read_rows
from tests.instrument import models


def own_losses(kind, logits, labels):
    """Each target's own loss, [n], as torch computes it."""
    k = logits.shape[-1]
    if kind == CLASSES:
        return nn.functional.cross_entropy(logits.reshape(-1, k), labels.reshape(-1), reduction="none")
    one = nn.functional.binary_cross_entropy_with_logits if kind == LABELS else nn.functional.mse_loss
    return one(logits, labels.reshape(logits.shape), reduction="none").mean(-1)


def drawn_labels(kind, shape, seed):
    """Labels for logits of that shape."""
    draw = torch.Generator().manual_seed(seed)
    if kind == CLASSES:
        return torch.randint(0, shape[-1], shape[:-1], generator=draw)
    values = torch.randn(shape, generator=draw, dtype=torch.float64)
    return (values > 0).double() if kind == LABELS else values


@pytest.mark.parametrize("kind", [CLASSES, LABELS, VALUES])
@given(b=st.integers(1, 4), t=st.integers(1, 3), k=st.integers(2, 5), seed=st.integers(0, 2**20))
def test_a_weighted_sum_of_own_losses_is_read_as_its_weights(kind, b, t, k, seed):
    shape = (b, t, k) if kind == CLASSES and t > 1 else (b, k)
    draw = torch.Generator().manual_seed(seed)
    logits = torch.randn(shape, generator=draw, dtype=torch.float64, requires_grad=True)
    labels = drawn_labels(kind, shape, seed + 1)
    losses = own_losses(kind, logits, labels)
    weights = torch.rand(losses.shape, generator=draw, dtype=torch.float64) + 0.1
    (losses * weights).sum().backward()

    rows = read_rows(logits.detach(), logits.grad, 3, labels, kind)

    flat = {name: np.concatenate([getattr(row, name) for row in rows]) for name in ("weight", "remainder", "loss")}
    assert b == len(rows)
    assert {3} == {row.micro_batch for row in rows}
    np.testing.assert_allclose(flat["weight"], weights, rtol=1e-9)
    np.testing.assert_allclose(flat["loss"], losses.detach(), rtol=1e-9)
    np.testing.assert_array_less(flat["remainder"], 1e-9)
    assert all(row.scored.all() for row in rows)


@given(b=st.integers(1, 4), t=st.integers(1, 4), seed=st.integers(0, 2**20))
def test_the_gradient_says_which_classes_were_trained(b, t, seed):
    draw = torch.Generator().manual_seed(seed)
    logits = torch.randn((b, t, 5), generator=draw, dtype=torch.float64, requires_grad=True)
    labels = drawn_labels(CLASSES, logits.shape, seed + 1)
    labels[torch.rand((b, t), generator=draw) < 0.4] = -100
    nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum").backward()

    rows = read_rows(logits.detach(), logits.grad, 0)

    assert [label != -100 for label in labels.flatten().tolist()] == [bool(s) for row in rows for s in row.scored]
    found = np.concatenate([row.target[row.scored] for row in rows])
    assert labels[labels != -100].tolist() == found.tolist()


def test_values_of_one_number_are_read_by_their_sign_and_size():
    logits, labels = torch.tensor([[1.0], [4.0]]), torch.tensor([3.0, 1.0])

    rows = read_rows(logits, torch.tensor([[-2.0], [12.0]]), 0, labels, VALUES)

    assert [0.5, 2.0] == [float(row.weight[0]) for row in rows]


def test_a_label_that_got_no_gradient_weighs_nothing_and_a_gradient_without_one_is_told():
    logits = torch.zeros(1, 2, 3)
    gradient = torch.tensor([[[0.0, 0.0, 0.0], [0.2, 0.2, -0.4]]])

    (row,) = read_rows(logits, gradient, 0, torch.tensor([[1, -100]]))

    assert [True, False] == row.scored.tolist()
    assert 0 == row.weight[0]
    assert pytest.approx(0.6) == row.weight[1]


def test_a_place_with_neither_label_nor_gradient_weighs_0_and_has_no_loss():
    (row,) = read_rows(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3), 0, torch.tensor([[1, -100]]))

    assert [0.0, 0.0] == row.weight.tolist()
    assert [False, True] == [math.isnan(loss) for loss in row.loss.tolist()]


def test_another_term_is_left_over():
    logits = torch.zeros(1, 3)
    gradient = torch.tensor([[-2 / 3, 1 / 3, 1 / 3]]) + torch.tensor([[0.0, 0.1, -0.1]])

    (row,) = read_rows(logits, gradient, 0, torch.tensor([0]))

    assert pytest.approx(math.sqrt(0.02) / math.sqrt(6 / 9)) == row.remainder[0]


def test_a_value_that_is_met_exactly_cannot_be_read():
    (row,) = read_rows(torch.tensor([[2.0, 1.0]]), torch.zeros(1, 2), 0, torch.tensor([[2.0, 1.0]]), VALUES)

    assert math.isinf(row.amplification[0])


@pytest.mark.parametrize(
    ("kind", "labels", "message"),
    [
        (VALUES, None, "no labels passed through the model.*call it with labels="),
        (LABELS, torch.zeros(2, 2), r"labels is \[2, 2\] but the logits of 2 rows have 3 numbers each"),
        (CLASSES, torch.zeros(3, dtype=torch.long), r"of shape \[3\] but the head scores 2 places"),
        (CLASSES, torch.zeros(2), r"labels is torch.float32 of shape \[2\].*the class of each as a whole number"),
    ],
)
def test_labels_that_do_not_fit_are_refused(kind, labels, message):
    with pytest.raises(ValueError, match=message):
        read_rows(torch.zeros(2, 3), torch.ones(2, 3), 0, labels, kind)


@pytest.mark.parametrize(
    ("settings", "labels", "kind"),
    [
        ({"num_labels": 1}, torch.zeros(2), VALUES),
        ({"num_labels": 3}, torch.zeros(2, dtype=torch.long), CLASSES),
        ({"num_labels": 3}, torch.zeros(2, 3), LABELS),
        ({"num_labels": 3, "problem_type": "regression"}, torch.zeros(2, 3), VALUES),
        ({"num_labels": 1, "problem_type": "multi_label_classification"}, torch.zeros(2, 1), LABELS),
    ],
)
def test_what_a_classifier_of_rows_is_trained_on_is_what_transformers_takes_it_for(settings, labels, kind):
    model = models.row_classifier(**settings)

    before = kind_of(model, labels)
    model(input_ids=torch.tensor([[3, 4], [5, 6]]), labels=labels)

    assert kind == before == kind_of(model, labels)


def test_other_heads_are_trained_on_classes():
    assert CLASSES == kind_of(models.llama(), None)

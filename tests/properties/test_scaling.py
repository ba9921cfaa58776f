"""R15: scaling the loss by c scales all weights by c; labelling a subset leaves the rest at exactly 0."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.loops import LOOPS, measure
from tests.strategies import shapes

instruments = pytest.mark.parametrize("instrument", ["probe", "live"])
factors = st.floats(1e-3, 1e3)


def loss_times(c):
    """Changes a model so that the loss it returns is c times what it was."""

    def scale(module, args, output):
        output.loss = c * output.loss
        return output

    return lambda model: model.register_forward_hook(scale)


def token_sum(outputs, labels, num_items_in_batch):
    """A loss of the user's own for the Trainer: cross-entropy over the window's targets."""
    logits, targets = outputs.logits[:, :-1], labels[:, 1:]
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    return losses / num_items_in_batch


@instruments
@pytest.mark.parametrize("loop", ["trainer", "accelerate"])
@given(shape=shapes(), c=factors)
def test_a_scaled_loss_of_the_model_scales_every_weight(instrument, loop, shape, c):
    plain, _ = measure(instrument, loop, shape)
    scaled, _ = measure(instrument, loop, shape, prepare=loss_times(c))

    assert_scaled(plain, scaled, c)


@instruments
@given(shape=shapes(), c=factors)
def test_a_scaled_loss_of_the_users_own_scales_every_weight(instrument, shape, c):
    def scaled_sum(outputs, labels, num_items_in_batch):
        return c * token_sum(outputs, labels, num_items_in_batch)

    plain, _ = measure(instrument, "trainer", shape, compute_loss_func=token_sum)
    scaled, _ = measure(instrument, "trainer", shape, compute_loss_func=scaled_sum)

    assert_scaled(plain, scaled, c)


@instruments
@given(shape=shapes(), c=factors)
def test_a_scaled_loss_by_hand_scales_every_weight(instrument, shape, c):
    plain, _ = measure(instrument, "by hand", shape)
    scaled, _ = measure(instrument, "by hand", shape, reduce=lambda losses, scored, targets: c * losses.sum() / targets)

    assert_scaled(plain, scaled, c)


@instruments
@pytest.mark.parametrize("loop", LOOPS)
@given(shape=shapes(), data=st.data())
def test_labelling_a_subset_leaves_the_rest_at_exactly_zero(instrument, loop, shape, data):
    kept = data.draw(subsets(shape))
    subset = dataclasses.replace(
        shape, labelled=[[(b, i) in kept for i in range(n - 1)] for b, n in enumerate(shape.lengths)]
    )

    report, _ = measure(instrument, loop, subset)

    if loop != "accelerate":
        report.assert_token_mean()
    zero = {(b, i) for b, row in enumerate(report.rows) for i, weight in enumerate(row.weight) if weight == 0}
    assert zero.isdisjoint(kept)
    assert len(zero) + len(kept) == sum(n - 1 for n in shape.lengths)


@st.composite
def subsets(draw, shape):
    """Some of the labelled targets (b, i), at least one of each micro-batch."""
    places = [
        [(b, i) for b in group for i, mark in enumerate(shape.labelled[b]) if mark] for group in shape.micro_batches()
    ]
    return {place for group in places for place in draw(st.sets(st.sampled_from(group), min_size=1))}


def assert_scaled(plain, scaled, c):
    """Every weight of the second report is c times that of the first."""
    for a, b in zip(plain.weights, scaled.weights):
        np.testing.assert_allclose(b, c * a, rtol=2 * plain.rounding(), atol=0)

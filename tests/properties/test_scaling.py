"""R15: scaling the loss by c scales all weights by c; labelling a subset leaves the rest at exactly 0."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.loops import measure
from tests.strategies import shapes

instruments = pytest.mark.parametrize("instrument", ["probe", "live"])
factors = st.floats(1e-3, 1e3)


def token_sum(outputs, labels, num_items_in_batch):
    """A loss of the user's own for the Trainer: cross-entropy over the window's targets."""
    import torch

    logits, targets = outputs.logits[:, :-1], labels[:, 1:]
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    return losses / num_items_in_batch


@instruments
@given(shape=shapes(), c=factors)
def test_a_scaled_loss_of_the_trainer_scales_every_weight(instrument, shape, c):
    plain, _ = measure(instrument, "trainer", shape, compute_loss_func=token_sum)
    scaled, _ = measure(
        instrument, "trainer", shape, compute_loss_func=lambda o, y, num_items_in_batch: c * token_sum(o, y, num_items_in_batch)
    )  # fmt: skip

    assert_scaled(plain, scaled, c)


@instruments
@given(shape=shapes(), c=factors)
def test_a_scaled_loss_by_hand_scales_every_weight(instrument, shape, c):
    plain, _ = measure(instrument, "by hand", shape)
    scaled, _ = measure(instrument, "by hand", shape, reduce=lambda losses, scored, targets: c * losses.sum() / targets)

    assert_scaled(plain, scaled, c)


@instruments
@pytest.mark.parametrize("loop", ["trainer", "by hand"])
@given(shape=shapes(), data=st.data())
def test_labelling_a_subset_leaves_the_rest_at_exactly_zero(instrument, loop, shape, data):
    kept = [[mark and data.draw(st.booleans()) for mark in marks] for marks in shape.labelled]
    for group in shape.micro_batches():
        if not any(any(kept[b]) for b in group):
            kept[group[0]] = list(shape.labelled[group[0]])
            for b in group:
                if not any(any(kept[r]) for r in group):
                    kept[b] = list(shape.labelled[b])
    subset = dataclasses.replace(shape, labelled=tuple(map(tuple, kept)))

    report, _ = measure(instrument, loop, subset)

    report.assert_token_mean()
    for row, marks in zip(report.rows, kept):
        assert (row.weight == 0).tolist() == [not mark for mark in marks]


def assert_scaled(plain, scaled, c):
    """Every weight of the second report is c times that of the first."""
    for a, b in zip(plain.weights, scaled.weights):
        np.testing.assert_allclose(b, c * a, rtol=2 * plain.rounding(), atol=0)

"""Label smoothing of a classifier is neither a fault nor passed over, however much alike its classes are."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument import make_batch, watch
from tests.instrument import models
from tests.properties.strategies import few

# Of a head: from classes that are all alike, over such that show a share of smoothing at some rows only, to any.
SCALES = [0.0, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 1.0]


def judged(classes, k, scale, smoothing, factor=1.0, accumulation=1, same=False):
    """The verdict on one step of a classifier of rows with k classes, whose head is scaled."""
    model = models.row_classifier(0, num_labels=k)
    with torch.no_grad():
        model.score.weight.mul_(scale)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = torch.nn.CrossEntropyLoss(label_smoothing=smoothing, reduction="sum")
    labels = torch.tensor(classes)
    with watch(model) as report:
        for part in torch.arange(len(classes)).chunk(accumulation):
            rows = [[3, 4] if same else [3 + 2 * b, 4 + 2 * b] for b in part.tolist()]
            out = model(**{**make_batch(rows), "labels": labels[part]})
            (factor * loss(out.logits, labels[part]) / len(classes)).backward()
        optimizer.step()
    return report.verdicts[0]


def alike(verdict):
    """It says that nothing tells smoothing from a factor, and nothing else is wrong."""
    return len(verdict.faults) == 1 and "alike, which hides whether it is token mean with" in verdict.faults[0]


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("scale", SCALES)
@few
@given(
    classes=st.lists(st.integers(0, 1), min_size=3, max_size=6),
    smoothing=st.sampled_from([0.05, 0.1, 0.3]),
    accumulation=st.integers(1, 2),
)
def test_smoothing_is_found_or_said_to_be_hidden(classes, k, scale, smoothing, accumulation):
    verdict = judged(classes, k, scale, smoothing, accumulation=accumulation)

    named = f"label smoothing {smoothing:.3g}"
    assert named in verdict.remarks if verdict.ok else alike(verdict) and named in verdict.faults[0]


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("scale", SCALES)
@few
@given(
    classes=st.lists(st.integers(0, 1), min_size=3, max_size=6),
    factor=st.sampled_from([0.9, 0.7, 1.1]),
)
def test_a_factor_is_found_or_said_to_be_hidden(classes, k, scale, factor):
    verdict = judged(classes, k, scale, 0.0, factor)

    assert not verdict.ok
    assert verdict.name.startswith("token mean times")
    assert factor < 1 or not alike(verdict)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_classes_that_differ_hide_no_factor(k, factor):
    verdict = judged([0, 1, 1, 0], k, 1.0, 0.0, factor)

    assert (factor == 1) is verdict.ok
    assert not alike(verdict)


def test_a_right_head_without_smoothing_is_right_however_alike_its_classes_are():
    assert all(judged([0, 1, 1], k, scale, 0.0).ok for k in (2, 3) for scale in SCALES)


def test_rows_that_are_all_the_same_hide_a_factor_of_two_classes_only():
    assert alike(judged([1, 1, 1], 2, 1.0, 0.0, 0.9, same=True))
    assert not alike(judged([1, 1, 1], 3, 1.0, 0.0, 0.9, same=True))

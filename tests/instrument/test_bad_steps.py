"""A step that gives nothing to weigh: one error, never a table of zeros; one that leaves something out is no pass."""

import pytest
import torch

from instrument import make_batch, xray
from tests.instrument.loops import train
from tests.instrument.messages import says


def nothing(model, rows):
    pass


def without_gradients(model, rows):
    with torch.no_grad():
        model(**make_batch(rows))


def no_backward(model, rows):
    model(**make_batch(rows))


def only_parameters(model, rows):
    torch.autograd.grad(model(**make_batch(rows)).loss, model.lm_head.weight)


def rows_of_its_own(model, rows):
    ids = torch.tensor([[3, 3, 4]])
    model(input_ids=ids, labels=ids).loss.backward()


def all_labels_masked(model, rows):
    batch = make_batch(rows, [[-100] * len(row) for row in rows])
    model(**batch, num_items_in_batch=1).loss.backward()


def infinite(model, rows):
    (model(**make_batch(rows)).loss * float("inf")).backward()


def no_targets_to_average(model, rows):
    model(**make_batch(rows, [[-100] * len(row) for row in rows])).loss.backward()


def freezes_the_embedding(model, rows):
    model.get_input_embeddings().requires_grad_(False)
    train(model, rows)


def unfreezes_attention(model, rows):
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    train(model, rows)
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    train(model, rows)


STEPS = [
    (nothing, RuntimeError, says("the model was never run with gradients on", "call the model that was handed over")),
    (without_gradients, RuntimeError, says("never run with gradients on", "outside torch.no_grad()")),
    (no_backward, RuntimeError, says("ran 1 times but no gradient came back", "call loss.backward()")),
    (only_parameters, RuntimeError, says("no gradient came back", "torch.autograd.grad on parameters alone")),
    (
        rows_of_its_own,
        RuntimeError,
        says("window 0", "none of the rows that the step was given", "train on these rows"),
    ),
    (all_labels_masked, ValueError, says("no target of window 0 is scored", "give labels other than -100")),
    (infinite, ValueError, says("holds nan or inf in forward 0", "look for an empty micro-batch")),
    (no_targets_to_average, ValueError, says("no target of window 0 is scored")),
    (
        freezes_the_embedding,
        RuntimeError,
        says("none was accumulated in their parameter", "must train as it was handed over"),
    ),
    (unfreezes_attention, RuntimeError, says("attention output is no longer zero", "leave requires_grad")),
]


@pytest.mark.parametrize(("step", "kind", "message"), STEPS, ids=[step.__name__ for step, _, _ in STEPS])
def test_a_step_that_gives_nothing_to_weigh(step, kind, message):
    with pytest.raises(kind, match=message):
        xray(step, [4, 3])


def test_a_step_that_leaves_a_row_out_is_no_pass():
    report = xray(lambda model, rows: train(model, rows[:2]), [4, 3, 5, 6])

    assert not report.ok
    assert "2 of the rows that were given never ran: 2, 3" in report.verdicts[-1].faults
    with pytest.raises(AssertionError, match="2 of the rows that were given never ran: 2, 3"):
        report.assert_token_mean()


def test_a_step_that_cuts_a_row_short_is_no_pass():
    report = xray(lambda model, rows: train(model, [row[:3] for row in rows]), [3, 5])

    assert "2 of 6 targets that should be scored carried no label" in report.verdicts[0].faults
    with pytest.raises(AssertionError):
        report.assert_token_mean()


def test_a_step_whose_own_call_fails_raises_its_own_error():
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        xray(lambda model, rows: model(input_ids=rows), [4, 4])

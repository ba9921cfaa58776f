"""A report that is asked too early, in another shape or about what nobody can know answers with one error."""

import re

import pytest
import torch

from instrument import make_batch, watch, xray
from tests.instrument import models
from tests.instrument.loops import ROWS, train
from tests.instrument.messages import says


def test_a_report_before_its_first_window():
    model = models.llama()

    with watch(model) as report:
        for ask in (
            report.assert_token_mean,
            report.assert_pure_rescaling,
            report.table,
            report.to_json,
            lambda: report.ok,
        ):
            with pytest.raises(RuntimeError, match=says("no window was measured yet", "after the watched block")):
                ask()
        model(**make_batch(ROWS)).loss.backward()

    report.assert_token_mean()


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ([[1 / 6] * 3], says("expected holds 1 rows but 2 were measured", "give one per row")),
        (
            [[1 / 6] * 3, [1 / 6] * 2],
            says("expected[1] holds 2 weights but the row has 3 targets", "one weight for each"),
        ),
        ([], says("expected holds 0 rows")),
    ],
)
def test_expected_weights_of_another_shape(expected, message):
    report = xray(train, [4, 4])

    for ask in (report.assert_weights, report.deviation_from):
        with pytest.raises(ValueError, match=message):
            ask(expected)


def test_a_wrong_row_of_a_later_window_is_named_by_its_place_in_the_report():
    def step(model, rows):
        for row in rows:
            train(model, [row])
            torch.optim.SGD(model.parameters(), lr=0.0).step()
            model.zero_grad()

    report = xray(step, [4, 4])

    with pytest.raises(ValueError, match=re.escape("expected[1] holds 1 weights")):
        report.assert_weights([[1 / 3] * 3, [1 / 3]])


def certain(dtype):
    """A model that leaves no doubt about the next token."""
    model = models.llama().to(dtype)
    model.lm_head.weight.data.mul_(1e6)
    return model


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("factor", [1, 3])
def test_a_model_that_is_certain_cannot_be_read_and_is_no_pass(dtype, factor):
    model, ids = certain(dtype), torch.tensor([ROWS[0]])
    with torch.no_grad():
        labels = model(input_ids=ids).logits.argmax(-1)

    with watch(model) as report:
        (factor * model(input_ids=ids, shift_labels=labels, labels=labels).loss).backward()

    assert not report.ok
    assert report.verdicts[0].name is None
    assert "none of 6 targets can be read" in report.verdicts[0].faults[0]
    for ask in (report.assert_token_mean, report.assert_pure_rescaling):
        with pytest.raises(ValueError, match=says("6 of 6 targets cannot be read", "watch an earlier state")):
            ask()

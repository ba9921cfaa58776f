"""Assertions pass and fail for the right reason, and each target is judged by its own rounding."""

import numpy as np
import pytest
import torch

from closed_forms import aggregation
from instrument import Report, expected_weights, make_batch, xray
from tests.instrument.loops import train
from tests.instrument.records import a_record, a_row, a_window


def row_by_row(model, rows):
    """One window per row."""
    for row in rows:
        train(model, [row])
        torch.optim.SGD(model.parameters(), lr=0.0).step()
        model.zero_grad()


def halves(model, rows):
    """Two micro-batches whose means are averaged."""
    for part in (rows[:2], rows[2:]):
        train(model, part, factor=0.5)


def test_weights_are_compared_absolutely():
    report = xray(lambda model, rows: train(model, rows, factor=2), [4, 3])

    with pytest.raises(AssertionError, match="weights are off by 1 of a token mean"):
        report.assert_token_mean()
    with pytest.raises(AssertionError, match=r"weights are off by 1 of a token mean, 0\.999 allowed"):
        report.assert_token_mean(tol=0.999)
    report.assert_token_mean(tol=1.001)
    report.assert_weights([[2 / 5] * 3, [2 / 5] * 2])


def test_a_negative_loss_is_no_token_mean():
    report = xray(lambda model, rows: train(model, rows, factor=-1), [4, 3])

    with pytest.raises(AssertionError, match="weights are off by 2 of a token mean"):
        report.assert_token_mean(tol=1.9)
    report.assert_weights([[-1 / 5] * 3, [-1 / 5] * 2])


@pytest.mark.parametrize("assertion", ["assert_token_mean", "assert_pure_rescaling"])
def test_a_failure_shows_the_verdict_and_the_table(assertion):
    report = xray(lambda model, rows: train(model, rows, factor=2), [4, 3])
    report.rows[0].remainder[1] = 0.1

    with pytest.raises(AssertionError) as failed:
        getattr(report, assertion)()

    assert str(report) in str(failed.value)
    assert "FAULT: token weights follow the token mean times 2" in str(failed.value)
    assert "2.0000 2.0000 2.0000" in str(failed.value)


def test_one_weight_in_many_that_is_off_is_found():
    expected = [[1 / 5] * 3, [1 / 5, 1 / 5 * (1 + 1e-4)]]
    report = xray(train, [4, 3])

    with pytest.raises(AssertionError, match=r"weights are off by 0\.0001 of a token mean"):
        report.assert_weights(expected)
    assert report.deviation_from(expected) == pytest.approx(1e-4, rel=1e-2)


def test_a_token_that_is_nearly_certain_excuses_no_other():
    sure = a_row([1 / 2], amplification=1e4)

    Report(a_record(a_window(sure, a_row([1 / 2])))).assert_token_mean()
    with pytest.raises(AssertionError, match=r"weights are off by 0\.001 of"):
        Report(a_record(a_window(sure, a_row([1 / 2 + 0.0005])))).assert_token_mean()


@pytest.mark.parametrize("n", [1, 2, 50])
def test_rounding_is_all_that_is_allowed_when_no_tolerance_is_given(n):
    allowed = Report(a_record(a_window(a_row([1 / n] * n)))).rounding()

    Report(a_record(a_window(a_row([1 / n] * (n - 1) + [(1 + 0.9 * allowed) / n])))).assert_token_mean()
    with pytest.raises(AssertionError, match="weights are off by"):
        Report(a_record(a_window(a_row([1 / n] * (n - 1) + [(1 + 1.1 * allowed) / n])))).assert_token_mean()


def test_one_bad_window_in_many_spoils_a_report():
    report = Report(a_record(*(a_window(a_row([w, w])) for w in (1 / 2, 1.0, 1 / 2))))

    assert [True, False, True] == [found.ok for found in report.verdicts]
    assert not report.ok


def test_an_unlabelled_token_is_not_asked_whether_it_can_be_read():
    row = a_row([1.0, 0.0], scored=[True, False], amplification=np.array([1.0, np.nan]))

    Report(a_record(a_window(row))).assert_pure_rescaling()
    Report(a_record(a_window(row))).assert_token_mean()


def test_a_remainder_of_a_nearly_certain_token_excuses_no_other():
    sure, pure, odd = (
        a_row([1 / 2], amplification=a, remainder=np.array([r])) for a, r in ((1e4, 1e-3), (1, 0.0), (1, 1e-3))
    )

    Report(a_record(a_window(sure, pure))).assert_pure_rescaling()
    with pytest.raises(AssertionError, match=r"a share of 0\.002 of a target's gradient"):
        Report(a_record(a_window(sure, odd))).assert_pure_rescaling()


@pytest.mark.parametrize(
    "row", [{"weights": [np.nan], "amplification": np.inf}, {"weights": [1 / 2], "amplification": 1e9}]
)
def test_a_token_that_cannot_be_read_is_no_pass(row):
    report = Report(a_record(a_window(a_row(**row), a_row([1 / 2]))))

    for ask in (report.assert_token_mean, report.assert_pure_rescaling):
        with pytest.raises(ValueError, match="1 of 2 targets cannot be read"):
            ask()


def test_a_token_without_a_weight_is_no_pass_at_any_tolerance():
    report = Report(a_record(a_window(a_row([np.nan, 1 / 2]))))

    for ask in (report.assert_token_mean, report.assert_pure_rescaling):
        with pytest.raises(ValueError, match="1 of 2 targets cannot be read"):
            ask(tol=1e9)
    with pytest.raises(ValueError, match="1 of 2 targets cannot be read"):
        report.deviation_from([[1 / 2, 1 / 2]])


def test_a_tolerance_of_ones_own_is_taken_at_its_word():
    report = Report(a_record(a_window(a_row([1.03 / 2], amplification=1e9), a_row([1 / 2]))))

    report.assert_token_mean(tol=0.04)
    with pytest.raises(AssertionError, match=r"off by 0\.03 of a token mean, 0\.02 allowed"):
        report.assert_token_mean(tol=0.02)


def test_a_gradient_on_an_unlabelled_token_fails_though_all_weights_are_right():
    labelled = [[True, True, True], [True, False]]

    def step(model, rows):
        # Divided by the four that should be scored, but the fifth is in it.
        train(model, rows, factor=5 / 4)

    with pytest.raises(AssertionError, match="1 tokens that should not be scored have a gradient"):
        xray(step, [4, 3], labelled=labelled).assert_token_mean()


def test_a_gradient_on_padding_fails_though_all_weights_are_right():
    def step(model, rows):
        batch = make_batch(rows, pad_to=6)
        batch["labels"][0, 5] = 7
        # Divided by the five that should be scored, but one of padding is in it.
        (model(**batch).loss * 6 / 5).backward()

    with pytest.raises(AssertionError, match="gradient reaches padding"):
        xray(step, [4, 3]).assert_token_mean()


def test_weights_of_a_closed_form_are_expected_in_the_order_of_the_report():
    report = xray(lambda model, rows: halves(model, rows[::-1]), [4, 3, 9])

    # The step runs the rows in the other order: 8 and 2 targets, then 3.
    expected = expected_weights(report, aggregation.mean_of_micro_batch_means)

    np.testing.assert_allclose(expected[0], [1 / 6] * 3)
    np.testing.assert_allclose(expected[1], [1 / 20] * 2)
    np.testing.assert_allclose(expected[2], [1 / 20] * 8)
    report.assert_weights(expected)
    with pytest.raises(AssertionError, match=r"off by 1\.17 of a token mean"):
        report.assert_token_mean()


def test_a_closed_form_gets_its_arguments_window_by_window():
    report = xray(row_by_row, [4, 3])

    expected = expected_weights(report, aggregation.short_window, accumulation=2)

    assert [[1 / 6] * 3, [1 / 4] * 2] == [list(row) for row in expected]


@pytest.mark.parametrize("factor", [3.0, -0.5])
def test_a_rescaled_loss_is_a_pure_rescaling(factor):
    xray(lambda model, rows: train(model, rows, factor=factor), [4, 3]).assert_pure_rescaling()


def test_a_second_term_is_no_pure_rescaling():
    def step(model, rows):
        out = model(**make_batch(rows))
        (out.loss + 0.01 * out.logits.square().mean()).backward()

    with pytest.raises(AssertionError, match=r"a share of 0\.\d+ of a target's gradient is not its own"):
        xray(step, [4, 3]).assert_pure_rescaling()


def test_label_smoothing_is_no_pure_rescaling():
    report = Report(a_record(a_window(a_row([0.9 / 2] * 2, uniform=[0.1 / 2] * 2))))

    with pytest.raises(AssertionError, match=r"a share of 0\.111 of"):
        report.assert_pure_rescaling()
    report.assert_pure_rescaling(tol=0.12)


def test_a_gradient_that_is_no_targets_at_all_is_no_pure_rescaling():
    report = Report(a_record(a_window(a_row([1.0, 0.0], scored=[True, False], remainder=np.array([0.0, 0.1])))))

    with pytest.raises(AssertionError, match="a share of inf of"):
        report.assert_pure_rescaling(tol=0.5)


def test_rounding_is_the_largest_of_the_readable_targets():
    rows = [a_row([1 / 3], amplification=a) for a in (1.0, 4.0, 1e12)]

    report = Report(a_record(a_window(*rows)))

    alone = Report(a_record(a_window(rows[0])))
    assert report.rounding() == pytest.approx(4 * alone.rounding())
    assert 0 < alone.rounding() < 1e-5

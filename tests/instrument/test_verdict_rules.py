"""What counts as a fault, a remark or a fit, on records made by hand."""

import numpy as np
import pytest

from instrument import verdict
from instrument.candidates import candidates
from tests.instrument.records import a_record, a_row, a_window


def judged(*rows, record=a_record, **more):
    window = a_window(*rows, **more)
    return verdict.judge(record(window), window)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"padding": 0.25}, "gradient reaches padding, up to 0.25 of the largest at a token"),
        ({"carried": [a_row]}, "the gradient still holds 1 rows that did not run in this window"),
        ({"reached": 0, "trainable": 7}, "0 of 7 trainable parameters hold a gradient"),
    ],
)
def test_what_is_wrong_beside_the_weights(more, message):
    found = judged(a_row([1 / 2, 1 / 2]), **more)

    assert (message,) == found.faults
    assert "token mean" == found.name


@pytest.mark.parametrize("off", [1e-7, -1e-7])
def test_a_tolerance_belongs_to_each_target(off):
    sure = {"amplification": 1e5}

    assert judged(a_row([1 / 2]), a_row([1 / 2 + 1e-2], **sure)).ok
    assert not judged(a_row([1 / 2 + 1e-2]), a_row([1 / 2], **sure)).ok
    assert judged(a_row([1 / 2 + off]), a_row([1 / 2])).ok


def test_a_tolerance_belongs_to_each_target_of_a_row():
    amplification = np.array([1e4, 1.0])

    assert judged(a_row([1 / 2 + 1e-3, 1 / 2], amplification=amplification)).ok
    assert not judged(a_row([1 / 2, 1 / 2 + 1e-3], amplification=amplification)).ok


def test_a_target_of_which_rounding_explains_any_weight_is_left_out():
    found = judged(a_row([1 / 2]), a_row([17.0], amplification=1e9))

    assert found.ok
    assert (
        "1 of 2 targets cannot be read: rounding in float64 explains a tenth of a weight or more, "
        "as where the model is certain",
    ) == found.remarks


@pytest.mark.parametrize(
    "row",
    [
        {"weights": [np.nan], "amplification": np.inf},
        {"weights": [0.5], "amplification": 1e9},
        {"weights": [0.0], "amplification": 0.0},
    ],
)
def test_a_window_of_which_nothing_can_be_read_is_no_pass(row):
    found = judged(a_row(**row))

    assert (None, False, ()) == (found.name, found.ok, found.remarks)
    assert found.faults[0].startswith("none of 1 targets can be read: rounding in float64 explains a tenth of a weight")


def test_a_window_without_targets_has_no_verdict():
    with pytest.raises(ValueError, match="no target of the window is scored"):
        judged(a_row([0.0, 0.0], scored=[False, False]))


def test_a_backward_without_rows_is_no_micro_batch():
    found = judged(a_row([1 / 3] * 2, micro_batch=1), a_row([1 / 3], micro_batch=1), micro_batches=2)

    assert "token mean" == found.name
    assert not any("micro-batch means" in name for name in found.same)


def test_a_micro_batch_without_targets_is_counted_but_has_no_mean():
    found = judged(a_row([1 / 2] * 2), a_row([0.0], scored=[False], micro_batch=1))

    assert found.ok
    assert any("the first 1 of M = 2 micro-batches" in name for name in found.same)
    assert not any("mean of micro-batch means" in name for name in found.same)


def test_a_zero_that_should_be_zero_must_be_exact():
    row, lost = a_row([1 / 4, 1 / 4]), a_row([1e-12, 0.0], micro_batch=1)
    kept = a_row([0.0, 0.0], micro_batch=1)

    assert "sum over the first 1 of M = 2 micro-batches only" == judged(row, kept).name
    assert judged(row, lost).name is None


@pytest.mark.parametrize("shares", [(0.1, 0.1), (0.3, 0.3)])
def test_the_share_of_label_smoothing_is_told(shares):
    rows = [a_row([(1 - s) / 2], uniform=[s / 2], uniform_loss=np.ones(1)) for s in shares]

    assert (f"label smoothing {shares[0]:.3g}",) == judged(*rows).remarks


def test_an_unreadable_target_does_not_spoil_the_share_of_label_smoothing():
    rows = [a_row([0.9 / 2], uniform=[0.1 / 2]), a_row([np.nan], amplification=np.inf)]

    assert "label smoothing 0.1" in judged(*rows).remarks


def test_the_objective_is_put_together_from_the_weights():
    row = a_row(
        [0.2, 0.3, np.nan], loss=np.array([1.0, 2.0, 0.0]), uniform=[0.0, 0.5, 0.0],
        uniform_loss=np.array([np.nan, 4.0, np.nan]),
    )  # fmt: skip

    assert a_window(row).objective() == pytest.approx(0.2 * 1 + 0.3 * 2 + 0.5 * 4)


def test_counts_are_those_of_the_micro_batches_that_hold_a_row():
    rows = [
        a_row([1.0] * 3, micro_batch=2),
        a_row([1.0], micro_batch=0),
        a_row([1.0] * 2, micro_batch=2, scored=[True, False]),
    ]
    window = a_window(*rows)

    assert [[1], [3, 1]] == window.counts()
    assert [1, 3, 2] == [len(row.weight) for row in window.by_micro_batch()]
    assert 5 == window.targets()


def test_no_candidate_is_a_copy_of_another():
    window = a_window(a_row([1.0] * 3), a_row([1.0]), a_row([1.0] * 4, micro_batch=1), a_row([1.0] * 2, micro_batch=2))

    values = [tuple(np.concatenate(c.form(window.counts())).round(12)) for c in candidates(window)]

    assert len(values) == len(set(values))


@pytest.mark.parametrize("shares", [(0.1, 0.3), (-0.5, -0.5), (1.0, 1.0)])
def test_a_share_that_no_label_smoothing_has_is_a_fault(shares):
    rows = [a_row([(1 - s) / 2], uniform=[s / 2], uniform_loss=np.ones(1)) for s in shares]

    assert any("spread over the vocabulary" in fault for fault in judged(*rows).faults)


def test_two_forms_that_rounding_cannot_tell_apart_are_no_pass():
    rows = [a_row([1 / 41] * 20, amplification=3e4), a_row([1 / 41] * 21, micro_batch=1, amplification=3e4)]

    found = judged(*rows)

    assert "token mean" == found.name
    assert any("hides whether it is token mean or mean of micro-batch means" in fault for fault in found.faults)

"""What a ledger says of windows that are known."""

from dataclasses import replace

import numpy as np
import pytest

from instrument.ledger import ledger, odd_samples, sample_id, times
from instrument.report.report import Report
from tests.instrument.records import a_record, a_row, a_window


def a_run(ids, weight=0.1, **more):
    ids = np.array(ids)
    return a_row([weight] * (ids.size - 1), ids=ids, target=ids[1:], **more)


def two_windows():
    return a_record(
        a_window(a_run([3, 4, 5], rank=0), a_run([6, 7], rank=1, weight=0.2), ranks=2),
        a_window(a_run([3, 4, 5], micro_batch=0), a_run([8, 9], micro_batch=1)),
    )


def test_each_run_has_its_place_its_divisor_and_what_was_due():
    entries = ledger(two_windows())

    assert [entry[:3] for entry in entries] == [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 0, 1)]
    assert [(entry.tokens, entry.targets, entry.due) for entry in entries] == [
        (3, 2, 3),
        (2, 1, 3),
        (3, 2, 3),
        (2, 1, 3),
    ]
    assert [entry.divisor for entry in entries] == pytest.approx([10, 5, 10, 10])


def test_runs_of_a_resumed_run_are_counted_on():
    record = two_windows()

    assert [entry.window for entry in ledger(record, record)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert times(ledger(record, record), [[3, 4, 5], [6, 7], [1, 2]]) == [4, 2, 0]


def test_documents_of_a_row_are_samples_of_their_own():
    row = a_run([3, 4, 5, 6, 7], starts=np.array([0, 3]))
    row.scored[2] = False
    first, second = ledger(a_record(a_window(row)))

    assert (first.sample, second.sample) == (sample_id([3, 4, 5]), sample_id([6, 7]))
    assert (first.targets, second.targets) == (2, 1)


def test_a_target_across_a_boundary_belongs_to_the_later_document():
    row = a_run([3, 4, 5, 6], starts=np.array([0, 2]))

    assert [entry.targets for entry in ledger(a_record(a_window(row)))] == [1, 2]


def test_a_divisor_is_told_only_where_all_targets_have_one():
    uneven = replace(a_run([3, 4, 5]), weight=np.array([0.1, 0.2]))
    nothing = replace(a_run([6, 7]), scored=np.array([False]))
    zero = a_run([8, 9], weight=0.0)

    assert np.isnan([entry.divisor for entry in ledger(a_record(a_window(uneven, nothing, zero)))]).all()


def test_label_smoothing_counts_into_the_divisor():
    row = replace(a_run([3, 4], weight=0.09), uniform=np.array([0.01]))

    assert ledger(a_record(a_window(row)))[0].divisor == pytest.approx(10)


def test_ids_tell_order_and_length_apart():
    names = [sample_id(tokens) for tokens in ([3, 4], [4, 3], [3], [3, 4, 0], np.array([3, 4]))]

    assert len(set(names)) == 4
    assert names[0] == names[4]


@pytest.mark.parametrize("tokens", [[], [[3, 4]], 3])
def test_what_is_no_list_of_tokens_has_no_name(tokens):
    with pytest.raises(ValueError, match="tokens="):
        sample_id(tokens)


def test_samples_that_are_equal_share_their_runs():
    assert times(ledger(two_windows()), [[3, 4, 5], [3, 4, 5], [6, 7]]) == [1, 1, 1]
    assert odd_samples(ledger(two_windows()), [[3, 4, 5], [3, 4, 5], [6, 7], [8, 9]]) == []


def test_what_ran_too_often_or_never_is_named_with_its_places():
    first, second = odd_samples(ledger(two_windows()), [[3, 4, 5], [6, 7], [8, 9], [1, 2]])

    assert first == "sample 0 ran 2 times, 1 due: window 0 rank 0 micro-batch 0, window 1 rank 0 micro-batch 0"
    assert second == "sample 3 ran 0 times, 1 due: nowhere"


def test_what_is_no_given_sample_is_told():
    assert odd_samples(ledger(two_windows()), [[3, 4, 5], [3, 4, 5], [6, 7]]) == [
        "1 runs are of no sample that was given, the first in window 1 on rank 0, of 2 tokens"
    ]


def test_epochs_are_counted():
    record = two_windows()
    samples = [[3, 4, 5], [3, 4, 5], [6, 7], [8, 9]]

    assert odd_samples(ledger(record, record), samples, epochs=2) == []
    assert len(odd_samples(ledger(record), samples, epochs=2)) == 3


def test_a_report_fails_with_what_is_odd():
    Report(two_windows()).assert_each_sample_once([[3, 4, 5], [3, 4, 5], [6, 7], [8, 9]])

    with pytest.raises(AssertionError, match="1 of 3 samples are not counted once: sample 0 ran 2 times"):
        Report(two_windows()).assert_each_sample_once([[3, 4, 5], [6, 7], [8, 9]])


def test_a_part_has_no_ledger():
    with pytest.raises(ValueError, match="rank 1 of 2"):
        ledger(replace(two_windows(), rank=1, ranks=2))

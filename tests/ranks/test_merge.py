"""The records of all ranks make one whole record, or none: nothing is guessed."""

from dataclasses import replace

import numpy as np
import pytest

from instrument.ranks import merge
from instrument.record import LeftOut
from instrument.report.report import Report
from tests.instrument.records import a_record, a_row, a_window, an_after

# Two ranks of two micro-batches; 10 targets in all, and rows with ids of their own.
WEIGHTS = [[[3, 1], [2]], [[1], [3]]]


def rank_record(rank, windows, ranks=2, **more):
    return replace(a_record(*windows), rank=rank, ranks=ranks, **more)


def a_rank_window(counts_mb, weight, start=3, **more):
    rows, first = [], start
    for m, counts in enumerate(counts_mb):
        for n in counts:
            ids = np.arange(first, first + n + 1)
            rows.append(a_row([weight] * n, micro_batch=m, ids=ids, target=ids[1:]))
            first += n + 1
    return a_window(*rows, **more)


def two_ranks(weights=(0.1, 0.1), **more):
    return [rank_record(r, [a_rank_window(WEIGHTS[r], weights[r], 3 + 50 * r, **more)]) for r in range(2)]


def test_the_whole_record_has_every_row_of_every_rank():
    whole = merge(two_ranks())

    assert [(row.rank, row.micro_batch, row.weight.size) for row in whole.windows[0].rows] == [
        (0, 0, 3), (0, 0, 1), (0, 1, 2), (1, 0, 1), (1, 1, 3),
    ]  # fmt: skip
    assert (whole.rank, whole.ranks, whole.windows[0].ranks) == (-1, 2, 2)


def test_targets_and_counts_are_those_of_all_ranks():
    (window,) = merge(two_ranks()).windows

    assert window.targets() == 10
    assert window.counts() == [[3, 1], [2], [1], [3]]
    assert window.counts_by_rank() == WEIGHTS


def test_the_order_in_which_records_come_does_not_matter():
    first, second = two_ranks()

    assert Report(merge([second, first])).to_json() == Report(merge([first, second])).to_json()


def test_a_record_of_a_single_rank_is_whole():
    alone = a_record(a_window(a_row([1.0])))

    assert merge([alone]) is alone


def test_a_part_gives_no_verdict():
    with pytest.raises(RuntimeError, match=r"rank 1 of 2 .*gathered"):
        print(Report(two_ranks()[1]))


@pytest.mark.parametrize("ask", [lambda r: r.ok, lambda r: r.rows, lambda r: r.to_json(), Report.assert_token_mean])
def test_a_part_answers_no_question_about_the_whole(ask):
    with pytest.raises(RuntimeError, match="rank 0 of 2"):
        ask(Report(two_ranks()[0]))


FORMS = {
    "token mean": lambda n, n_r, n_rm: 1 / n,
    "mean of per-rank means, R = 2": lambda n, n_r, n_rm: 1 / (2 * n_r),
    "sum of per-rank means, R = 2 times too large": lambda n, n_r, n_rm: 1 / n_r,
    "token mean times R = 2": lambda n, n_r, n_rm: 2 / n,
    "token mean divided once more by R = 2": lambda n, n_r, n_rm: 1 / (2 * n),
    "mean of micro-batch means per rank, R = 2, M = 2": lambda n, n_r, n_rm: 1 / (4 * n_rm),
    "sum of micro-batch means per rank, R = 2, M = 2": lambda n, n_r, n_rm: 1 / (2 * n_rm),
    "sum of micro-batch means over all ranks, R = 2, M = 2": lambda n, n_r, n_rm: 1 / n_rm,
    "token mean times R M, R = 2, M = 2": lambda n, n_r, n_rm: 4 / n,
    "mean of micro-batch means divided by 3 though only M = 2 ran, R = 2": lambda n, n_r, n_rm: 1 / (6 * n_rm),
    "sum over tokens, divided by R = 2 only": lambda n, n_r, n_rm: 1 / 2,
    "sum over tokens, never divided": lambda n, n_r, n_rm: 1,
}


@pytest.mark.parametrize("name", FORMS)
def test_the_verdict_names_the_form_over_ranks(name):
    records = []
    for r, counts_mb in enumerate([[[3, 1], [2]], [[1], [4]]]):
        window = a_rank_window(counts_mb, 0.0)
        n_r = sum(map(sum, counts_mb))
        for row in window.rows:
            row.weight[:] = row.backward_weight[:] = FORMS[name](11, n_r, sum(counts_mb[row.micro_batch]))
        records.append(rank_record(r, [window]))

    (verdict,) = Report(merge(records)).verdicts
    assert verdict.name == name


def test_per_sequence_means_are_named_over_all_ranks_and_per_rank():
    names = []
    for over_all in (True, False):
        records = []
        for r, counts in enumerate([[3, 1, 2], [1, 4]]):
            window = a_rank_window([counts], 0.0)
            for row in window.rows:
                sequences = 5 if over_all else 2 * len(counts)
                row.weight[:] = row.backward_weight[:] = 1 / (sequences * row.weight.size)
            records.append(rank_record(r, [window]))
        names.append(Report(merge(records)).verdicts[0].name)

    assert names == ["per-sequence mean over all ranks", "mean of per-sequence means per rank, R = 2"]


def test_the_table_says_on_which_rank_a_row_ran():
    text = str(Report(merge(two_ranks())))

    assert "10 targets in 5 rows and 2 micro-batches on each of 2 ranks" in text
    assert text.splitlines()[1].split()[:3] == ["row", "rank", "micro-batch"]


def test_ranks_about_to_step_on_different_gradients_are_a_fault():
    first, second = two_ranks(consumed="a")
    second.windows[0].consumed = "b"

    report = Report(merge([first, second]))

    told = "the 2 ranks are about to step on different gradients: they were not averaged"
    assert report.verdicts[0].faults == (told,)
    with pytest.raises(AssertionError, match="different gradients"):
        report.assert_token_mean()


def test_ranks_about_to_step_on_the_same_gradient_are_none():
    assert Report(merge(two_ranks(consumed="a"))).ok


def test_a_rank_that_measured_fewer_windows_leaves_no_verdict():
    first, second = two_ranks()
    first.windows *= 2

    with pytest.raises(ValueError, match=r"incomplete window: the ranks measured \[2, 1\] windows"):
        merge([first, second])


def test_a_rank_that_left_before_the_step_leaves_no_verdict():
    first, second = two_ranks()
    second.windows[0].stepped = False

    with pytest.raises(ValueError, match=r"incomplete window: a step ended window 0 on ranks \[0\] of 2 only"):
        merge([first, second])


@pytest.mark.parametrize("given", [[0], [0, 0], [1], [0, 1, 1]])
def test_each_rank_is_needed_once(given):
    records = two_ranks()

    with pytest.raises(ValueError, match=r"these are ranks \[.*\] of 2"):
        merge([records[r] for r in given])


def test_no_record_at_all_is_refused():
    with pytest.raises(ValueError, match=r"records=\[\]"):
        merge([])


@pytest.mark.parametrize(
    "other",
    [
        {"versions": {"torch": "1.0"}},
        {"where": "elsewhere"},
        {"work_dtype": "float16"},
        {"loss_dtype": "float16"},
        {"vocabulary": 3},
        {"instrument": "probe"},
        {"ranks": 3},
    ],
    ids=lambda other: next(iter(other)),
)
def test_records_of_two_runs_are_told_by_the_field_that_differs(other):
    first, second = two_ranks()

    with pytest.raises(ValueError, match=f"{next(iter(other))} differs between ranks"):
        merge([first, replace(second, **other)])


def test_a_window_without_any_target_on_any_rank_is_refused():
    nothing = a_row([0.0], scored=[False])

    with pytest.raises(ValueError, match="no target of window 0 is scored"):
        merge([rank_record(r, [a_window(nothing)]) for r in range(2)])


def test_a_rank_without_a_target_takes_no_part_in_the_count():
    records = [rank_record(0, [a_window(a_row([0.5, 0.5]))]), rank_record(1, [a_window(a_row([0.0], scored=[False]))])]

    assert Report(merge(records)).ok


def test_a_carried_row_that_ran_on_another_rank_is_none():
    ran = a_row([0.5], ids=np.array([3, 4]))
    windows = [a_window(ran), a_window(a_row([0.5], ids=np.array([5, 6])), carried=[ran])]
    left = a_row([0.5], ids=np.array([7, 8]))

    assert merge([rank_record(r, [window]) for r, window in enumerate(windows)]).windows[0].carried == []
    windows[0].carried, windows[1].carried = [left], [left]
    assert merge([rank_record(r, [w]) for r, w in enumerate(windows)]).windows[0].carried == [left]


def probe_records(first, second):
    """Of a probe, which sees every row on every rank."""
    return [rank_record(r, [window], instrument="probe") for r, window in enumerate((first, second))]


def test_a_row_that_ran_on_both_ranks_is_one_row_of_the_probe():
    ran = a_row([0.5], ids=np.array([3, 4]), backward_weight=np.array([0.25]))
    (window,) = merge(probe_records(a_window(ran), a_window(ran))).windows

    assert [(row.weight.tolist(), row.backward_weight.tolist()) for row in window.rows] == [([0.5], [0.5])]


def test_a_row_is_missing_that_ran_on_no_rank():
    first, second = probe_records(a_window(a_row([0.5])), a_window(a_row([0.5])))

    assert merge([replace(first, missing=[1, 2]), replace(second, missing=[0, 2])]).missing == [2]


def test_notes_say_of_which_rank_they_are():
    first, second = two_ranks()

    assert merge([first, replace(second, notes=["odd"])]).notes == ["rank 1: odd"]


def test_what_was_thrown_away_is_kept_of_every_rank_in_the_order_of_windows():
    def left(window, rank):
        return LeftOut(window, 0, np.array([3, 4 + rank]), np.array([0]), rank)

    first, second = two_ranks()
    of_first, of_second = [left(2, 0)], [left(1, 1), left(2, 1)]

    whole = merge([replace(first, left_out=of_first), replace(second, left_out=of_second)])

    assert [(each.window, each.rank) for each in whole.left_out] == [(1, 1), (2, 0), (2, 1)]


def test_what_was_measured_after_backward_is_kept_of_every_rank():
    found = [an_after(before=np.array([1.0, norm]), entry=np.array([1.0, norm])) for norm in (2.0, 3.0)]
    first, second = two_ranks()
    first.windows[0].after, second.windows[0].after = found

    (verdict,) = Report(whole := merge([first, second])).verdicts
    assert [after.before.tolist() for after in whole.windows[0].after.ranks] == [[1.0, 2.0], [1.0, 3.0]]
    assert verdict.faults == ("the 2 ranks hold different gradients of b, 1 of 2",)
    assert verdict.stage == "all-reduce"


def test_a_rank_without_the_optimizer_leaves_no_verdict():
    first, second = two_ranks()
    first.windows[0].after = an_after()

    with pytest.raises(ValueError, match=r"window 0 of ranks \[1\] was watched without the optimizer"):
        merge([first, second])


def test_ranks_that_train_other_parameters_leave_no_verdict():
    first, second = two_ranks()
    first.windows[0].after, second.windows[0].after = an_after(), an_after(names=("a", "c"))

    with pytest.raises(ValueError, match="rank 1 trains other parameters than rank 0: b"):
        merge([first, second])

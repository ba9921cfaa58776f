"""The windows of SFTTrainer, as they are and under faults, on rows that can be worked out by hand."""

from closed_forms import target_rows
from tests.closed_forms.rows import assert_rows

MASKS = [[[0, 1, 1], [1]], [[1, 1, 0, 1]]]
ENDS = [[[0, 0, 1], [0]], [[0, 0, 1, 1]]]


def test_targets_share_the_window():
    expected = [[0, 1 / 6, 1 / 6], [1 / 6], [1 / 6, 1 / 6, 0, 1 / 6]]

    assert_rows(target_rows.targets(MASKS), expected)
    assert_rows(target_rows.targets_of_all_turns(MASKS), expected)
    assert_rows(target_rows.targets_with_prompts(MASKS), expected)


def test_masked_ends_leave_the_count_too():
    assert_rows(target_rows.targets_without_ends(MASKS, ENDS), [[0, 1 / 4, 0], [1 / 4], [1 / 4, 1 / 4, 0, 0]])


def test_the_first_target_of_each_row_leaves_the_count_too():
    assert_rows(target_rows.targets_without_first(MASKS), [[0, 0, 1 / 3], [0], [0, 1 / 3, 0, 1 / 3]])


def test_micro_batches_are_averaged_and_added_up():
    assert_rows(target_rows.targets_of_micro_batches(MASKS), [[0, 1 / 3, 1 / 3], [1 / 3], [1 / 3, 1 / 3, 0, 1 / 3]])

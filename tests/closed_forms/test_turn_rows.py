"""Windows of SFTTrainer whose turns are marked wrongly, on rows that can be worked out by hand."""

import pytest

from closed_forms import turn_rows
from tests.closed_forms.rows import assert_rows

# Two turns, and one that begins at the second token; then one behind two other targets.
MASKS = [[[0, 1, 1, 0, 1, 1], [1, 1]], [[0, 0, 1]]]


def test_only_the_last_run_of_each_row_is_left():
    assert_rows(turn_rows.targets_of_last_turns(MASKS), [[0, 0, 0, 0, 1 / 5, 1 / 5], [1 / 5] * 2, [0, 0, 1 / 5]])


def test_a_turn_that_never_ends_takes_all_that_follows():
    marks = [[[0, 1, 0, 0], [0, 0, 1]]]

    assert_rows(turn_rows.targets_to_the_end(marks), [[0, 1 / 4, 1 / 4, 1 / 4], [0, 0, 1 / 4]])


def test_the_last_token_of_each_run_leaves_the_count_too():
    expected = [[0, 1 / 3, 0, 0, 1 / 3, 0], [1 / 3, 0], [0, 0, 0]]

    assert_rows(turn_rows.targets_without_turn_ends(MASKS), expected)


def test_an_answer_right_behind_the_first_token_is_not_found():
    expected = [[0, 1 / 5, 1 / 5, 0, 1 / 5, 1 / 5], [0, 0], [0, 0, 1 / 5]]

    assert_rows(turn_rows.targets_of_found_answers(MASKS), expected)


def test_the_token_before_the_first_turn_is_added_where_there_is_one():
    expected = [[1 / 9, 1 / 9, 1 / 9, 0, 1 / 9, 1 / 9], [1 / 9] * 2, [0, 1 / 9, 1 / 9]]

    assert_rows(turn_rows.targets_with_token_before(MASKS), expected)


@pytest.mark.parametrize(
    "form",
    [
        turn_rows.targets_of_last_turns,
        turn_rows.targets_to_the_end,
        turn_rows.targets_without_turn_ends,
        turn_rows.targets_of_found_answers,
        turn_rows.targets_with_token_before,
    ],
)
def test_a_row_without_a_turn_is_refused(form):
    with pytest.raises(ValueError, match=r"^every row needs a target that is marked: leave out rows without a turn$"):
        form([[[0, 1], [0, 0]]])

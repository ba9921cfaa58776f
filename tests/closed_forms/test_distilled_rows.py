"""Windows of a distillation with a wrong divisor, on rows that can be worked out by hand."""

from closed_forms import distilled_rows
from tests.closed_forms.rows import assert_rows

MASKS = [[[0, 1, 1], [1]], [[1, 1, 0, 1]]]


def test_rows_divide_what_many_tokens_add():
    assert_rows(distilled_rows.distilled_by_rows(MASKS), [[0, 1 / 4, 1 / 4], [1 / 4], [1 / 2, 1 / 2, 0, 1 / 2]])


def test_padding_divides_like_the_tokens():
    # Two rows of three slots, and one of four, in two micro-batches.
    expected = [[0, 1 / 12, 1 / 12], [1 / 12], [1 / 8, 1 / 8, 0, 1 / 8]]

    assert_rows(distilled_rows.distilled_over_padding(MASKS), expected)


def test_words_divide_once_more():
    expected = [[0, 1 / 60, 1 / 60], [1 / 60], [1 / 60, 1 / 60, 0, 1 / 60]]

    assert_rows(distilled_rows.distilled_over_vocabulary(MASKS, 10), expected)


def test_a_count_for_each_micro_batch_divides_again_by_their_number():
    expected = [[0, 1 / 12, 1 / 12], [1 / 12], [1 / 12, 1 / 12, 0, 1 / 12]]

    assert_rows(distilled_rows.distilled_over_repeated(MASKS), expected)


def test_nothing_is_no_weight():
    assert_rows(distilled_rows.nothing_distilled(MASKS), [[0] * 3, [0], [0] * 4])


def test_each_micro_batch_by_itself_divides_by_its_own_and_their_number():
    assert_rows(distilled_rows.distilled_by_micro_batch(MASKS), [[0, 1 / 6, 1 / 6], [1 / 6], [1 / 6, 1 / 6, 0, 1 / 6]])

"""What a row of a report shows of its weights: each of them up to ten, and every token that anybody called a target."""

import numpy as np
import pytest

from instrument.report import as_text
from tests.instrument.records import a_row


def test_ten_weights_are_shown_one_by_one_and_eleven_by_their_range():
    assert " ".join(["1.0000"] * 10) == as_text.weights_of(a_row([1 / 4] * 10), 4)
    assert "1.0000 to 1.0000, median 1.0000" == as_text.weights_of(a_row([1 / 4] * 11), 4)


@pytest.mark.parametrize(("scored", "intended"), [(True, False), (False, True), (True, True)])
def test_a_target_of_the_loop_or_of_the_question_is_no_dot(scored, intended):
    assert "0.0000" == as_text.weights_of(a_row([0.0], scored=[scored], intended=[intended]), 4)


@pytest.mark.parametrize(("scored", "intended"), [(True, False), (False, True)])
def test_a_target_of_the_loop_or_of_the_question_counts_in_the_range(scored, intended):
    others = np.zeros(10, dtype=bool)
    row = a_row([1 / 2, *[0.0] * 10], scored=[scored, *others], intended=[intended, *others])

    assert "2.0000 to 2.0000, median 2.0000" == as_text.weights_of(row, 4)

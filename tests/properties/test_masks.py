"""R6: an unlabelled token weighs exactly 0, every labelled one is counted once, none is shifted."""

import numpy as np
import pytest
from hypothesis import given

from tests.properties.loops import LOOPS, measure
from tests.strategies import shapes

instruments = pytest.mark.parametrize("instrument", ["probe", "live"])
loops = pytest.mark.parametrize("loop", LOOPS)


@instruments
@loops
@given(shape=shapes())
def test_an_unlabelled_token_weighs_exactly_nothing(instrument, loop, shape):
    report, _ = measure(instrument, loop, shape)

    for row, marks in zip(report.rows, shape.labelled):
        # A last token predicts nothing: it has no place, unless it weighs something.
        assert len(marks) == len(row.weight)
        assert not row.weight[~np.array(marks)].any()
        assert row.weight[np.array(marks)].all()


@instruments
@loops
@given(shape=shapes())
def test_a_labels_gradient_is_that_of_the_next_token(instrument, loop, shape):
    report, _ = measure(instrument, loop, shape)

    report.assert_pure_rescaling()
    for row in report.rows:
        assert (row.target == row.ids[1:]).all()


@instruments
@given(shape=shapes())
def test_labels_are_what_the_model_was_given(instrument, shape):
    report, _ = measure(instrument, "trainer", shape)

    assert [list(marks) for marks in shape.labelled] == [row.scored.tolist() for row in report.rows]

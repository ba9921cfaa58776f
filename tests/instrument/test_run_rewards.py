"""A reward of a row stands at the row's last token, by itself."""

import numpy as np
import pytest

from instrument.run.rewards import row_of


@pytest.mark.parametrize("ids", [[7, 9], [7, 9, 4]])
def test_a_reward_stands_at_the_last_place_of_its_row(ids):
    row = row_of(np.array(ids), 0.5, -0.25)

    last = [0.0] * (len(ids) - 2)
    assert row.weight.tolist() == [*last, -0.25]
    assert row.backward_weight.tolist() == row.weight.tolist()
    assert row.scored.tolist() == row.intended.tolist() == [bool(value) for value in [*last, True]]
    assert row.target.tolist() == ids[1:]
    nowhere = [np.nan] * len(last)
    np.testing.assert_array_equal(row.loss, [*nowhere, -0.5])
    np.testing.assert_array_equal(row.cosine, [*nowhere, -1.0])
    np.testing.assert_array_equal(row.amplification, [*nowhere, 0.5])


def test_a_reward_that_weighs_nothing_has_no_direction():
    assert np.isnan(row_of(np.array([7, 9]), 0.5, 0.0).cosine).all()


def test_a_row_of_one_token_is_refused():
    with pytest.raises(ValueError, match=r"a row of 1 tokens has no place for its reward: give it two"):
        row_of(np.array([7]), 0.5, -0.25)

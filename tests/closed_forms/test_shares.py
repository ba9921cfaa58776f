"""How often each sample of an epoch runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.shares import each_once, filled_up, first_slice_for_all, own_orders, remainder_dropped, same_share

DEALT = [filled_up, remainder_dropped, same_share, first_slice_for_all]
sizes = {"samples": st.integers(1, 30), "parts": st.integers(1, 4), "batch": st.integers(1, 3)}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (filled_up, [2, 2, 2, 1, 1, 1, 1, 1, 1]),
        (remainder_dropped, [1, 1, 1, 1, 1, 1, 1, 1, 0]),
        (same_share, [2, 2, 2, 2, 2, 2, 0, 0, 0]),
        (first_slice_for_all, [2, 2, 0, 0, 2, 2, 0, 0, 2]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_nine_samples_on_two_ranks_in_batches_of_two(form, expected):
    (found,) = form(9, 2, 2)

    assert found.tolist() == expected


@pytest.mark.parametrize("form", DEALT)
@given(batch=st.integers(1, 3), steps=st.integers(1, 5))
def test_on_one_rank_whole_steps_run_each_sample_once(form, batch, steps):
    np.testing.assert_array_equal(form(batch * steps, 1, batch), each_once(batch * steps))


@given(**sizes)
def test_filled_up_ranks_run_whole_steps(samples, parts, batch):
    (found,) = filled_up(samples, parts, batch)

    assert found.sum() % (parts * batch) == 0
    assert found.min() >= 1
    assert found.sum() - samples < parts * batch


def test_a_data_set_smaller_than_a_step_goes_round_and_round():
    assert filled_up(2, 2, 3)[0].tolist() == [3, 3]


def test_ranks_with_one_order_run_each_sample_once():
    assert own_orders([[2, 0, 1, 3]] * 2, 1)[0].tolist() == [1, 1, 1, 1]


def test_ranks_with_two_orders_take_their_share_of_each():
    assert own_orders([[0, 1, 2, 3], [0, 2, 1, 3]], 1)[0].tolist() == [1, 0, 2, 1]
    assert own_orders([[0, 1, 2, 3], [0, 2, 1, 3]], 2)[0].tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize("form", DEALT)
@pytest.mark.parametrize(("name", "given_"), [("samples", (0, 1, 1)), ("parts", (1, 0, 1)), ("batch", (1, 1, 0))])
def test_a_number_below_one_is_refused(form, name, given_):
    with pytest.raises(ValueError, match=f"{name}=0 must be at least 1"):
        form(*given_)


def test_no_sample_and_no_order_are_refused():
    with pytest.raises(ValueError, match="samples=0"):
        each_once(0)
    with pytest.raises(ValueError, match="parts=0"):
        own_orders([], 1)


@pytest.mark.parametrize("orders", [[[0, 1], [0, 0]], [[0, 1], [0]], [[1, 2]]])
def test_what_is_no_permutation_is_refused(orders):
    with pytest.raises(ValueError, match="one permutation of 0"):
        own_orders(orders, 1)

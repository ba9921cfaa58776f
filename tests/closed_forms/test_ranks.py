"""Weights over ranks between which something is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.aggregation import per_rank_mean, token_mean
from closed_forms.ranks import divided_by_ranks, last_micro_batch_not_averaged, sum_of_rank_means, times_ranks
from tests.closed_forms.compare import assert_weights, total
from tests.closed_forms.strategies import windows

RANKS = [[[1, 2], [3]], [[2]]]
WHOLE = [[1, 2], [3], [2]]
several = st.lists(windows, min_size=1, max_size=3)


def test_each_rank_sums_to_one_where_nobody_divides_by_the_ranks():
    assert_weights([[1 / 6], [1 / 6] * 2, [1 / 6] * 3, [1 / 2] * 2], sum_of_rank_means(RANKS))


def test_the_factor_of_the_ranks_is_in_or_out():
    assert_weights([[2 / 8], [2 / 8] * 2, [2 / 8] * 3, [2 / 8] * 2], times_ranks(WHOLE, RANKS))
    assert_weights([[1 / 16], [1 / 16] * 2, [1 / 16] * 3, [1 / 16] * 2], divided_by_ranks(WHOLE, RANKS))


def test_only_the_last_micro_batch_of_each_rank_lacks_the_average():
    assert_weights([[1 / 8], [1 / 8] * 2, [2 / 8] * 3, [2 / 8] * 2], last_micro_batch_not_averaged(RANKS))


@given(ranks=several)
def test_sum_of_rank_means_is_the_mean_of_them_times_their_number(ranks):
    assert total(sum_of_rank_means(ranks)) == pytest.approx(len(ranks))
    assert_weights([len(ranks) * w for w in per_rank_mean(ranks)], sum_of_rank_means(ranks))


@given(ranks=several)
def test_factors_of_the_ranks_cancel(ranks):
    whole = [n_b for window in ranks for n_b in window]

    assert_weights([len(ranks) * w for w in token_mean(whole)], times_ranks(whole, ranks))
    assert total(divided_by_ranks(whole, ranks)) == pytest.approx(1 / len(ranks))


@given(window=windows)
def test_a_single_rank_is_clean(window):
    for weights in (
        sum_of_rank_means([window]),
        times_ranks(window, [window]),
        divided_by_ranks(window, [window]),
        last_micro_batch_not_averaged([window]),
    ):
        assert_weights(token_mean(window), weights)


@pytest.mark.parametrize("form", [sum_of_rank_means, last_micro_batch_not_averaged])
def test_no_rank_at_all_is_refused(form):
    with pytest.raises(ValueError, match=r"is needed|needs a micro-batch"):
        form([])


def test_a_rank_without_a_target_cannot_divide_by_its_own_count():
    with pytest.raises(ValueError, match=r"ranks\[1\]: a window needs a target"):
        sum_of_rank_means([[[1]], [[0]]])


def test_a_row_without_a_target_is_fine():
    assert_weights([[], [1 / 2], [], [2 / 2]], last_micro_batch_not_averaged([[[0, 1], [0]], [[1]]]))

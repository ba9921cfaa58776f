"""Weights of supervised fine-tuning on rows small enough to redo by hand."""

import numpy as np
import pytest
from hypothesis import given

from closed_forms.supervised import dft, nll, scored_tokens
from tests.closed_forms.tokens import draw_log_p, draw_mask, row_numbers, seeds, widths

ROWS = [[1, 1, 1, 1], [1, 1, 1, 0]]
COMPLETION = [[0, 0, 1, 1], [0, 1, 1, 1]]
ASSISTANT = [[1, 0, 0, 1], [1, 1, 0, 1]]


def test_the_first_token_of_a_row_is_never_scored():
    assert scored_tokens(ROWS).tolist() == [[False, True, True, True], [False, True, True, False]]


def test_completion_only_scores_completions():
    assert scored_tokens(ROWS, COMPLETION).tolist() == [[False, False, True, True], [False, True, True, False]]


def test_both_masks_must_allow_a_token():
    assert scored_tokens(ROWS, COMPLETION, ASSISTANT).tolist() == [
        [False, False, False, True],
        [False, True, False, False],
    ]


def test_a_mask_is_needed():
    with pytest.raises(ValueError, match=r"^scored_tokens needs a mask, got none: give the attention mask$"):
        scored_tokens()


def test_masks_of_two_shapes_are_refused():
    with pytest.raises(ValueError, match=r"^all masks need one shape, got \[\[2, 4\], \[1, 2\]\]: a mask shorter than"):
        scored_tokens(ROWS, [[1, 1]])


def test_the_mask_that_is_wrong_is_named():
    with pytest.raises(ValueError, match=r"^masks\[1\] holds 0 or 1"):
        scored_tokens(ROWS, [1])


def test_every_target_weighs_the_same():
    np.testing.assert_array_equal(nll([[1, 0], [1, 1]], 4), [[1 / 4, 0], [1 / 4, 1 / 4]])


def test_dft_weighs_by_the_probability():
    log_p = np.log([[1 / 2, 1 / 8], [1 / 4, 1]])

    np.testing.assert_allclose(dft(log_p, [[1, 0], [1, 1]], 3), [[1 / 6, 0], [1 / 12, 1 / 3]], rtol=1e-15)


@given(seeds, row_numbers, widths)
def test_weights_sum_to_one_over_what_is_counted(seed, rows, width):
    mask_bt = draw_mask(np.random.default_rng(seed), rows, width)

    assert nll(mask_bt, mask_bt.sum()).sum() == pytest.approx(1, rel=1e-14)


@given(seeds, row_numbers, widths)
def test_dft_is_nll_where_the_model_is_certain(seed, rows, width):
    mask_bt = draw_mask(np.random.default_rng(seed), rows, width)

    np.testing.assert_array_equal(dft(np.zeros((rows, width)), mask_bt, 7), nll(mask_bt, 7))


@given(seeds, row_numbers, widths)
def test_dft_never_weighs_more_than_nll(seed, rows, width):
    rng = np.random.default_rng(seed)
    mask_bt = draw_mask(rng, rows, width)
    weights = dft(draw_log_p(rng, rows, width), mask_bt, 1)

    assert ((weights > 0) == mask_bt).all()
    assert (weights[mask_bt] < 1).all()


@pytest.mark.parametrize("form", [lambda m, n: nll(m, n), lambda m, n: dft([[0.0]], m, n)])
def test_nothing_is_divided_by_zero(form):
    with pytest.raises(ValueError, match=r"^denominator must be positive and finite, got denominator=0$"):
        form([[1]], 0)


@pytest.mark.parametrize("form", [lambda m: nll(m, 1), lambda m: dft([[0.0]], m, 1)])
def test_the_mask_is_called_scored(form):
    with pytest.raises(ValueError, match=r"^scored holds 0 or 1"):
        form([2])


def test_log_probabilities_must_fit_the_mask():
    with pytest.raises(ValueError, match=r"^log_p must have shape \[1, 2\], got \[2\]"):
        dft([0.0, 0.0], [[1, 1]], 1)

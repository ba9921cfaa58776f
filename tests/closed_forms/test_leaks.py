"""Leak patterns against what each token of a pack may read, token by token."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.leaks import (
    blockwise,
    boundary_lost,
    everything,
    lower_triangular,
    neighbour,
    rows_of_packs,
    separate,
    window_limited,
)

sizes = st.lists(st.integers(2, 6), min_size=1, max_size=6)
several = st.lists(st.integers(2, 6), min_size=2, max_size=6)
every_pattern = pytest.mark.parametrize(
    "pattern",
    [
        separate,
        everything,
        lower_triangular,
        neighbour,
        lambda lengths: window_limited(lengths, 2, 1),
        lambda lengths: blockwise(lengths, 3),
        lambda lengths: rows_of_packs([lengths]),
    ],
)


def read_by(lengths, sees_tt, layers=1, first_tokens=False):
    """[n][n] from what each token attends to: the loss of i reads what the inputs before its targets have gathered.

    A target is a token whose predecessor is an input of the same document; with `first_tokens` of the one before too.
    """
    document_t = np.repeat(np.arange(len(lengths)), lengths)
    gathered_tt = np.linalg.matrix_power((sees_tt | np.eye(len(sees_tt), dtype=bool)).astype(float), layers) > 0
    found = np.eye(len(lengths), dtype=bool)
    for t in range(1, len(document_t)):
        if first_tokens or document_t[t] == document_t[t - 1]:
            found[document_t[t], document_t[gathered_tt[t - 1]]] = True
    return found


def behind(lengths):
    """[t][t] query token minus key token, in the pack."""
    place_t = np.arange(sum(lengths))
    return place_t[:, None] - place_t[None, :]


def same_document(lengths):
    document_t = np.repeat(np.arange(len(lengths)), lengths)
    return document_t[:, None] == document_t[None, :]


@given(sizes)
def test_separate_is_causal_attention_within_documents(lengths):
    expected = read_by(lengths, (behind(lengths) >= 0) & same_document(lengths), layers=2)

    np.testing.assert_array_equal(separate(lengths), expected)


@given(sizes)
def test_lower_triangular_is_causal_attention_over_the_pack(lengths):
    np.testing.assert_array_equal(lower_triangular(lengths), read_by(lengths, behind(lengths) >= 0))


@given(sizes)
def test_everything_is_attention_to_all(lengths):
    np.testing.assert_array_equal(everything(lengths), read_by(lengths, np.isfinite(behind(lengths))))


@given(sizes)
def test_neighbour_is_a_first_token_that_is_a_target(lengths):
    sees_tt = (behind(lengths) >= 0) & same_document(lengths)

    np.testing.assert_array_equal(neighbour(lengths), read_by(lengths, sees_tt, first_tokens=True))


@given(lengths=sizes, window=st.integers(1, 5), layers=st.integers(1, 4))
def test_window_is_handed_on_layer_by_layer(lengths, window, layers):
    sees_tt = (behind(lengths) >= 0) & (behind(lengths) < window)

    np.testing.assert_array_equal(window_limited(lengths, window, layers), read_by(lengths, sees_tt, layers))


@given(lengths=sizes, chunk=st.integers(1, 9), layers=st.integers(1, 3))
def test_chunks_are_never_left(lengths, chunk, layers):
    chunk_t = np.arange(sum(lengths)) // chunk
    sees_tt = (behind(lengths) >= 0) & (chunk_t[:, None] == chunk_t[None, :])

    np.testing.assert_array_equal(blockwise(lengths, chunk), read_by(lengths, sees_tt, layers))


@given(lengths=several, data=st.data())
def test_a_lost_boundary_joins_two_documents(lengths, data):
    lost = data.draw(st.integers(1, len(lengths) - 1))
    joined_t = np.repeat(np.arange(len(lengths)) - (np.arange(len(lengths)) >= lost), lengths)
    sees_tt = (behind(lengths) >= 0) & (joined_t[:, None] == joined_t[None, :])

    np.testing.assert_array_equal(boundary_lost(lengths, lost), read_by(lengths, sees_tt))


@given(st.lists(sizes, min_size=1, max_size=3))
def test_packs_do_not_read_each_other(packs):
    pattern = rows_of_packs(packs)
    start = 0

    for lengths in packs:
        here = slice(start, start + len(lengths))
        np.testing.assert_array_equal(pattern[here, here], lower_triangular(lengths))
        start += len(lengths)
    assert pattern.sum() == sum(lower_triangular(lengths).sum() for lengths in packs)


@every_pattern
@given(lengths=sizes)
def test_patterns_are_booleans_with_a_true_diagonal(pattern, lengths):
    found = pattern(lengths)

    assert found.dtype == np.bool_
    assert found.shape == (len(lengths), len(lengths))
    assert found.diagonal().all()


@given(several)
def test_patterns_of_a_pack_without_boundaries_grow(lengths):
    assert (separate(lengths) <= neighbour(lengths)).all()
    assert (neighbour(lengths) <= lower_triangular(lengths)).all()
    assert (lower_triangular(lengths) < everything(lengths)).any()


def test_a_window_of_three_reaches_four_tokens_back_in_two_layers():
    pattern = window_limited([3, 3, 3], window=3, layers=2)

    # The third document begins at token 6 and sees as far as token 2, the last of the first.
    np.testing.assert_array_equal(pattern, [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(window_limited([3, 4, 3], window=3, layers=2)[2], [0, 1, 1])


def test_documents_of_one_token_stand_apart_too():
    np.testing.assert_array_equal(boundary_lost([4, 1, 5], 2), [[1, 0, 0], [0, 1, 0], [0, 1, 1]])


@every_pattern
@pytest.mark.parametrize("lengths", [[], [3, 0], [2, -1], [2.5]])
def test_lengths_that_no_sequence_has_are_refused(pattern, lengths):
    with pytest.raises(ValueError, match="lengths"):
        pattern(lengths)


@pytest.mark.parametrize("pattern", [everything, lower_triangular, neighbour])
def test_a_sequence_without_a_target_has_no_loss(pattern):
    with pytest.raises(ValueError, match=r"each sequence needs 2 tokens or more, got lengths=\[3, 1\]"):
        pattern([3, 1])


def test_no_row_is_refused():
    with pytest.raises(ValueError, match=r"a batch needs a row, got packs=\[\]"):
        rows_of_packs([])


@pytest.mark.parametrize(("window", "layers"), [(0, 1), (1, 0), (-1, 2)])
def test_a_window_without_a_token_or_a_layer_is_refused(window, layers):
    with pytest.raises(ValueError, match=f"window={window}, layers={layers}"):
        window_limited([3, 3], window, layers)


def test_an_empty_chunk_is_refused():
    with pytest.raises(ValueError, match="chunk=0"):
        blockwise([3, 3], 0)


@pytest.mark.parametrize("lost", [0, 3, -1])
def test_a_boundary_without_a_sequence_before_it_is_refused(lost):
    with pytest.raises(ValueError, match=rf"lost={lost} is no sequence"):
        boundary_lost([3, 3, 3], lost)


def test_a_boundary_before_a_sequence_without_a_target_is_refused():
    with pytest.raises(ValueError, match="lost=1 is no sequence with a target"):
        boundary_lost([3, 1, 3], 1)

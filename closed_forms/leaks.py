"""Which sequence's loss may depend on the inputs of which other: patterns that a stack shows when it leaks.

Axes: i = sequence whose targets are scored, j = sequence whose inputs are read. Sequences are counted through the
batch, row by row; in a pack, those of one row stand behind each other. Every pattern is [i][j] of booleans with a true
diagonal. All but ``separate`` are what a broken stack shows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ._window import Counts, read_counts

Pattern = NDArray[np.bool_]
Lengths = Sequence[int]


def separate(lengths: Lengths) -> Pattern:
    """Pattern of a right stack.

        D_ij = (i = j)

    Args:
        lengths: [n] tokens of each sequence, at least 1.

    Returns:
        [n][n]: whether the loss of sequence i may depend on the inputs of sequence j.

    Raises:
        ValueError: no sequence, or one without a token.
    """
    return np.eye(read_lengths(lengths, 1).size, dtype=np.bool_)


def everything(lengths: Lengths) -> Pattern:
    """Pattern of attention that is neither causal nor bounded, and of any term that is taken over the whole batch.

        D_ij = 1

    Args:
        lengths: [n] tokens of each sequence, at least 2: a sequence of one token has no target, so no loss.

    Returns:
        As ``separate``.

    Raises:
        ValueError: no sequence, or one of fewer than 2 tokens.

    Batch statistics, and the load-balancing term of a mixture of
    experts (section 2.2 of https://arxiv.org/abs/2101.03961), have this pattern by design.
    """
    n_i = read_lengths(lengths)
    return np.ones((n_i.size, n_i.size), dtype=np.bool_)


def lower_triangular(lengths: Lengths) -> Pattern:
    """Pattern of one pack whose boundaries are ignored: a sequence reads all that stand before it.

        D_ij = (j <= i)

    Same argument, result and errors as ``everything``.
    Measured in https://github.com/huggingface/transformers/issues/39194
    """
    return np.tril(everything(lengths))


def rows_of_packs(packs: Sequence[Lengths]) -> Pattern:
    """Pattern of several rows, each a pack whose boundaries are ignored.

        D_ij = (row_i = row_j) (j <= i)

    Args:
        packs: [row][k] tokens of each sequence of each row.

    Returns:
        As ``separate``, sequences counted row by row.

    Raises:
        ValueError: no row, or a row that ``everything`` refuses.
    """
    if len(packs) == 0:
        raise ValueError("a batch needs a row, got packs=[]: give the lengths of the sequences of each row")
    row_i = np.repeat(np.arange(len(packs)), [read_lengths(lengths).size for lengths in packs])
    return np.tril(row_i[:, None] == row_i[None, :])


def neighbour(lengths: Lengths) -> Pattern:
    """Pattern of a pack whose sequences are apart, but each one's first token is a target of the one before.

        D_ij = (j = i) + (j = i - 1)

    Same argument, result and errors as ``everything``. The first token's loss is read at the last input of the sequence
    before. A state that reaches over one boundary and not over two has the same pattern.
    """
    n_i = read_lengths(lengths)
    return np.eye(n_i.size, dtype=np.bool_) | np.eye(n_i.size, k=-1, dtype=np.bool_)


def window_limited(lengths: Lengths, window: int, layers: int) -> Pattern:
    """Pattern of a pack under sliding windows that are counted through the pack and ignore its boundaries.

        D_ij = (j <= i) (first_i - last_j <= layers (window - 1)),
        first_i = sum_{k<i} n_k the first input of i, last_j = sum_{k<=j} n_k - 1 the last input of j

    A window of w tokens holds the token itself and w - 1 before it, so each layer carries information w - 1 tokens on.
    Reported in https://github.com/pytorch/torchtitan/issues/4801

    Args:
        lengths: as ``everything``.
        window: tokens that one token attends to, itself included, at least 1.
        layers: layers with such a window, at least 1.

    Returns:
        As ``separate``.

    Raises:
        ValueError: as ``everything``, and when window or layers is not at least 1.
    """
    n_i = read_lengths(lengths)
    if min(window, layers) < 1:
        raise ValueError(f"a token attends to itself at least, in a layer, got window={window}, layers={layers}")
    end_i = np.cumsum(n_i)
    behind_ij = (end_i - n_i)[:, None] - (end_i - 1)[None, :]
    # A last token is no input of any target of its own sequence: the first one of i that is scored follows first_i.
    return np.tril(behind_ij <= layers * (window - 1))


def blockwise(lengths: Lengths, chunk: int) -> Pattern:
    """Pattern of a pack under chunks that are counted through the pack and ignore its boundaries.

        D_ij = (j <= i) (exists a chunk that holds a token of j and, behind it, a scored input of i)

    An input is scored when a token of the same sequence follows it. Any number of layers has the same pattern, since
    nothing leaves its chunk. Reported in https://github.com/huggingface/transformers/issues/37429

    Args:
        lengths: as ``everything``.
        chunk: tokens of a chunk, at least 1.

    Returns:
        As ``separate``.

    Raises:
        ValueError: as ``everything``, and when chunk is not at least 1.
    """
    n_i = read_lengths(lengths)
    if chunk < 1:
        raise ValueError(f"a chunk holds a token at least, got chunk={chunk}")
    end_i = np.cumsum(n_i)
    # The scored input of i that is nearest to j is its first; the token of j that is nearest to i is its last.
    return np.tril((end_i - n_i)[:, None] // chunk <= (end_i - 1)[None, :] // chunk) | np.eye(n_i.size, dtype=np.bool_)


def boundary_lost(lengths: Lengths, lost: int) -> Pattern:
    """Pattern of a pack in which one boundary is missing.

        D_ij = (i = j) + (i = lost) (j = lost - 1)

    Reported for a sequence of one token, whose end was not seen, in https://github.com/modelscope/ms-swift/pull/9904

    Args:
        lengths: as ``separate``; at least 2 for the sequence ``lost``.
        lost: the sequence whose start is not marked, 1 ... n - 1.

    Returns:
        As ``separate``.

    Raises:
        ValueError: as ``separate``, and when no sequence stands before ``lost`` or it has no target.
    """
    pattern = separate(lengths)
    if not 1 <= lost < len(pattern) or lengths[lost] < 2:
        raise ValueError(
            f"lost={lost} is no sequence with a target behind another one of lengths={list(lengths)}: give its number"
        )
    pattern[lost, lost - 1] = True
    return pattern


def read_lengths(lengths: Lengths, least: int = 2) -> Counts:
    """Turn lengths into an array.

    Raises:
        ValueError: no sequence, or one of fewer tokens than ``least``.
    """
    n_i = read_counts(lengths, "lengths")
    if n_i.size == 0 or n_i.min() < least:
        raise ValueError(
            f"each sequence needs {least} tokens or more, got lengths={n_i.tolist()}: leave shorter ones out"
        )
    return n_i

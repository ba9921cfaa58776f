"""The batches of the atlas: the same four documents packed, in two packs, padded, and of one length."""

from typing import Any

import torch

from ..probe import make_batch, tracer_rows

DOCUMENTS = ([3, 4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15, 16, 17], [18, 19, 20])
Lists = dict[str, list[list[int]]]


def packed(rows: tuple[tuple[int, ...], ...] = ((0, 1, 2, 3),)) -> Lists:
    """Documents by number joined in rows, their positions starting again with each."""
    ids = [[token for d in row for token in DOCUMENTS[d]] for row in rows]
    positions = [[t for d in row for t in range(len(DOCUMENTS[d]))] for row in rows]
    labels = [[-100 if t == 0 else token for token, t in zip(*pair)] for pair in zip(ids, positions)]
    return {"input_ids": ids, "labels": labels, "position_ids": positions}


def packed_with_ones() -> Lists:
    """As packed, with an attention mask of ones."""
    return {**packed(), "attention_mask": [[1] * sum(len(d) for d in DOCUMENTS)]}


def two_packs() -> Lists:
    """Two rows of two documents each."""
    return packed(((0, 1), (2, 3)))


def padded(side: str) -> Lists:
    """One document in a row, padded on one side."""
    return {name: value.tolist() for name, value in make_batch(DOCUMENTS, padding_side=side).items()}


def even() -> Lists:
    """Two rows of one length, nothing padded."""
    rows = [DOCUMENTS[2], [18, 19, 20, 21, 22, 23]]
    return {"input_ids": rows, "labels": rows}


def tensors(lists: Lists) -> dict[str, Any]:
    """The batch as a model takes it."""
    return {name: torch.tensor(values) for name, values in lists.items()}


def uneven_rows() -> list[list[int]]:
    """Eight rows for one optimizer step, of 48 next-token targets in all."""
    return tracer_rows((5, 9, 3, 12, 7, 4, 10, 6))

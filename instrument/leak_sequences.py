"""Which token of a batch belongs to which sequence.

Letters: b rows, t tokens of a row, n sequences of the batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .forward import token_ids
from .leak_loss import NothingToSay


@dataclass(frozen=True)
class Span:
    """One sequence of a batch.

    Attributes:
        row: the row that it lies in.
        start: its first token in that row.
        stop: one behind its last.
    """

    row: int
    start: int
    stop: int

    def __str__(self) -> str:
        return f"row {self.row}, tokens {self.start}-{self.stop - 1}"


def find_sequences(batch: dict[str, Any], shape: tuple[int, int], documents: Any = None) -> tuple[Tensor, list[Span]]:
    """Say which sequence each token belongs to.

    In order: `documents`; `seq_idx`; `cu_seq_lens_q` (of one flattened row); `position_ids` of shape [b, t], where
    a sequence starts wherever the position does not go up by one; else each row is one sequence. What
    `attention_mask` [b, t] marks with 0 belongs to none. No sequence goes on in the next row.

    Args:
        batch: the arguments of the model.
        shape: b and t.
        documents: [b, t] ids of the documents, -1 where a token belongs to none; or for a single row a list of slices.

    Returns:
        [b, t] number of each token's sequence, counted row by row, -1 for none; and the n sequences.

    Raises:
        ValueError: boundaries that do not fit the batch.
        NothingToSay: fewer than two sequences.
    """
    if documents is None:
        ids_bt, said = from_batch(batch, shape)
    else:
        ids_bt, said = from_argument(documents, shape), "documents="
    mask = batch.get("attention_mask")
    if documents is None and isinstance(mask, Tensor) and mask.shape == ids_bt.shape:
        ids_bt = torch.where(mask.to(ids_bt.device) != 0, ids_bt, torch.full_like(ids_bt, -1))
    number_bt = torch.full_like(ids_bt, -1)
    spans: list[Span] = []
    for b, ids in enumerate(ids_bt.tolist()):
        for name in dict.fromkeys(i for i in ids if i >= 0):
            here = [t for t, i in enumerate(ids) if i == name]
            number_bt[b, here] = len(spans)
            spans.append(Span(b, here[0], here[-1] + 1))
    if len(spans) < 2:
        raise NothingToSay(
            f"the batch holds {len(spans)} sequence(s) by {said} (shape {list(shape)}), and a leak needs two: give two "
            "rows, position_ids that start again, or documents= with the id of each token's document, [b, t]"
        )
    return number_bt, spans


def from_batch(batch: dict[str, Any], shape: tuple[int, int]) -> tuple[Tensor, str]:
    """Read boundaries off the arguments of the model: an id for each token, and what said so."""
    positions, ends, seq_idx = (batch.get(name) for name in ("position_ids", "cu_seq_lens_q", "seq_idx"))
    if seq_idx is not None:
        return fitting(seq_idx, shape, "seq_idx").long(), "seq_idx"
    if ends is not None:
        return from_ends(torch.as_tensor(ends), shape), "cu_seq_lens_q"
    if positions is None:
        return torch.zeros(shape, dtype=torch.long), "its rows"
    rows = 1 if positions.shape[:1] == (1,) else shape[0]
    positions_bt = fitting(positions, (rows, shape[1]), "position_ids")
    jumps_bt = torch.diff(positions_bt, dim=1, prepend=positions_bt[:, :1] - 1) != 1
    return jumps_bt.long().cumsum(1).expand(shape).clone(), "position_ids"


def from_ends(ends_k: Tensor, shape: tuple[int, int]) -> Tensor:
    """Ids of the tokens of one flattened row from the cumulated lengths 0, n_0, n_0 + n_1, ..."""
    ends = ends_k.tolist()
    if shape[0] != 1 or ends[:1] != [0] or ends[-1] != shape[1] or ends != sorted(set(ends)):
        raise ValueError(
            f"cu_seq_lens_q={ends} does not cut a batch of shape {list(shape)}: it belongs to one row and must go up "
            "from 0 to its tokens; say with documents= where each sequence lies"
        )
    return torch.repeat_interleave(torch.arange(len(ends) - 1), torch.diff(ends_k.cpu()).long())[None]


def from_argument(documents: Any, shape: tuple[int, int]) -> Tensor:
    """Ids of the tokens from what the caller said."""
    if isinstance(documents, Sequence) and documents and all(isinstance(d, slice) for d in documents):
        if shape[0] != 1:
            raise ValueError(f"documents= is a list of slices, but the batch has {shape[0]} rows: give ids of [b, t]")
        ids_bt = torch.full(shape, -1)
        for number, where in enumerate(documents):
            refuse_odd_slice(where, shape[1], f"documents[{number}]={where}")
            if not ids_bt[0, where].numel() or (ids_bt[0, where] >= 0).any():
                raise ValueError(f"documents[{number}]={where} is empty or shares a token with one before it")
            ids_bt[0, where] = number
        return ids_bt
    return fitting(documents, shape, "documents").long()


def refuse_odd_slice(where: slice, tokens: int, said: str) -> None:
    """Raise when a slice is no run of the row's tokens.

    Raises:
        ValueError: it has a step, or reaches past the row.
    """
    if where.step not in (None, 1):
        raise ValueError(f"{said} has a step, but a sequence is a run of tokens: give slice(start, stop)")
    if any(place is not None and abs(place) > tokens for place in (where.start, where.stop)):
        raise ValueError(f"{said} reaches past the row, which has {tokens} tokens: let the last slice end there")


def fitting(value: Any, shape: tuple[int, int], name: str) -> Tensor:
    """The value as a tensor of that shape.

    Raises:
        ValueError: it is none, or does not hold whole numbers.
    """
    try:
        ids = torch.as_tensor(value).cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is a {type(value).__name__} that is no tensor of ids: {error}") from error
    if tuple(ids.shape) != tuple(shape) or ids.is_floating_point():
        raise ValueError(
            f"{name} is {ids.dtype} of shape {list(ids.shape)}, but the tokens are {list(shape)}: give a whole number "
            "for each token, [b, t], or say with documents= where each sequence lies"
        )
    return ids


def by_token(rows: Sequence[Sequence[int]]) -> Callable[[dict[str, Any]], Tensor]:
    """Tell the documents of a batch by its token ids, whatever the batch says: no id may occur in two of the rows.

    Returns:
        From a batch to `documents` for `find_sequences`: the number of the row that each token is from, -1 for none.
    """
    owner = {token: number for number, row in enumerate(rows) for token in row}

    def documents(batch: dict[str, Any]) -> Tensor:
        return torch.tensor([[owner.get(token, -1) for token in row] for row in token_ids(batch).tolist()])

    return documents

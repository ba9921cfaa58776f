"""Given rows as a dataset, and the collator that pads them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..probe import make_batch

Item = dict[str, Any]


class Rows(torch.utils.data.Dataset[Item]):
    """Given rows and labels as a dataset; the labels are the ids when left out."""

    def __init__(self, rows: Sequence[Sequence[int]], labels: Sequence[Sequence[int]] | None) -> None:
        self.rows, self.labels = rows, rows if labels is None else labels

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Item:
        return {"input_ids": list(self.rows[index]), "labels": list(self.labels[index])}


def padding_collator(padding_side: str, pad_to: int) -> Callable[[list[Item]], dict[str, torch.Tensor]]:
    """Pads items of input_ids and labels; arguments as in make_batch."""

    def collate(items: list[Item]) -> dict[str, torch.Tensor]:
        return make_batch(
            [item["input_ids"] for item in items],
            [item["labels"] for item in items],
            padding_side=padding_side,
            pad_to=pad_to,
        )

    return collate

"""Given rows as a dataset, and what makes batches of them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from tokenizers import Tokenizer, models
from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast

from ..probe import BOS, EOS, PAD, make_batch

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


def library_collator(
    vocabulary: int, pad_id: int, padding_side: str = "right"
) -> Callable[[list[Item]], dict[str, torch.Tensor]]:
    """DataCollatorForLanguageModeling, with a tokenizer that knows ids as words; only its padding is used.

    It makes the labels itself, so the items' own are not looked at.
    """
    collator = DataCollatorForLanguageModeling(tokenizer_of_ids(vocabulary, pad_id, padding_side), mlm=False)

    def collate(items: list[Item]) -> dict[str, torch.Tensor]:
        return dict(collator([{"input_ids": item["input_ids"]} for item in items]))

    return collate


def tokenizer_of_ids(vocabulary: int, pad_id: int = PAD, padding_side: str = "right") -> PreTrainedTokenizerFast:
    """A tokenizer that knows ids as words."""
    words = {f"<{i}>": i for i in range(vocabulary)}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token=f"<{BOS}>")),
        pad_token=f"<{pad_id}>",
        eos_token=f"<{EOS}>",
        padding_side=padding_side,
    )

"""Which tokens: the rows of a window as text with a weight for each token, and what they show in words."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..record import Row, Window


class Said(NamedTuple):
    """A sentence about the tokens of a window: its code, "fault", "warning" or "note", and the words."""

    code: str
    level: str
    text: str
    window: int


class Classes:
    """Reads ids that are classes; what is no class, as several labels or a value, has no number."""

    def decode(self, ids: list[int], **_: Any) -> str:
        """As a tokenizer does."""
        return " ".join("label" if i < 0 else f"class {i}" for i in ids)


@dataclass(frozen=True)
class Run:
    """Tokens of a row that stand side by side and weigh the same.

    Attributes:
        text: decoded, special tokens shown; ids without a tokenizer.
        weight: w*N of each; None for what is no target, nan where it cannot be read.
        tokens: how many.
        start: place in the row of the first.
    """

    text: str
    weight: float | None
    tokens: int
    start: int


def runs_of(row: Row, n: int, tokenizer: Any) -> list[Run]:
    """A row in runs of equal weight, rounded to 4 digits; nothing comes before its first token, so that has none.

    Where the ids are classes, each stands at its own place, and the first is none.
    """
    weights: list[float | None] = [None]
    for weight, scored, intended in zip(row.weight, row.scored, row.intended):
        weights.append(None if weight == 0 and not (scored or intended) else round(float(weight) * n, 4))
    weights = weights[: row.ids.size]
    start = int(isinstance(tokenizer, Classes))
    runs: list[Run] = []
    for at in range(start + 1, len(weights) + 1):
        if at == len(weights) or not same(weights[at], weights[start]):
            runs.append(Run(text_of(row.ids[start:at], tokenizer), weights[start], at - start, start))
            start = at
    return runs


def same(a: float | None, b: float | None) -> bool:
    """Equal, also where both are unknown."""
    return a == b or (a is not None and b is not None and bool(np.isnan(a) and np.isnan(b)))


def text_of(ids: Any, tokenizer: Any) -> str:
    """Ids as text; of what cannot be decoded, the numbers."""
    plain = [int(i) for i in ids]
    if tokenizer is None or (any(i < 0 for i in plain) and not isinstance(tokenizer, Classes)):
        return " ".join(f"<{i}>" for i in plain)
    return str(tokenizer.decode(plain, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def sentences(windows: list[Window], tokenizer: Any, only: str) -> list[Said]:
    """What the rows show.

    Args:
        only: the argument by which the trainer was told to leave prompts out; empty without one.
    """
    said = []
    end = getattr(tokenizer, "eos_token_id", None)
    rows = [(number, row) for number, window in enumerate(windows) for row in window.rows]
    for number, window in enumerate(windows):
        whole = [b for b, row in enumerate(window.rows) if row.scored.size and row.scored.all()]
        if only and whole:
            text = f"the prompt is trained: {only}=True, and every token of {listed(whole)} is a target"
            said.append(Said("prompt-trained", "fault", text, number))
        empty = [b for b, row in enumerate(window.rows) if not row.scored.any()]
        if empty:
            said.append(Said("nothing-trained-in-row", "warning", f"nothing in {listed(empty)} is trained", number))
    ends = [(number, row.scored[: row.ids.size - 1][row.ids[1:] == end]) for number, row in rows if end is not None]
    there = sum(marks.size for _, marks in ends)
    if there and not any(marks.any() for _, marks in ends):
        name = getattr(tokenizer, "eos_token", "EOS")
        text = f"EOS is never trained: {name} follows a token {there} times, and no target is it"
        said += [Said("eos-never-trained", "warning", text, n) for n in sorted({n for n, m in ends if m.size})]
    return said


def listed(numbers: list[int]) -> str:
    """Row 3, or rows 0, 1, 2 ..."""
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    return f"rows {', '.join(map(str, numbers[:6]))}{' ...' if len(numbers) > 6 else ''}"

"""Reads what each reward of a reward model weighs, at the rewards themselves.

A reward r is one number of a row, and its loss is -r: w = -dL/dr, the gradient as it arrives. It stands at the last
token of the row, so that the row can be shown; a place of a row stands for the token behind it.
"""

import re
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..capture import Capture, Replay
from ..captured import CapturedWindow
from ..forward import Forward
from ..gathering import note
from ..label_record import describe_labels, logits_of
from ..locate import unwrapped
from ..record import Record, Row, Window


class RewardRecorder:
    """As LiveRecorder, at the one number that a head of rows gives.

    Raises:
        ValueError: the model has no such head.
    """

    def __init__(self, model: Any) -> None:
        self._model: Any = unwrapped(model)
        name, labels = type(self._model).__name__, getattr(getattr(self._model, "config", None), "num_labels", 0)
        if not re.search("ForSequenceClassification$", name) or labels != 1:
            raise ValueError(f"{name} gives {labels} numbers for a row: a reward model gives one, num_labels=1")
        where = f"the rewards of {name}"
        # A number by itself has no softmax; its rounding is that of two.
        self.record = Record("live", where, 2, "", "float32")
        self.capture = Capture(
            self._model, self._model, where, self._take, self._close, find=logits_of, describe=describe_labels
        )
        self.record.notes = self.capture.notes

    def _take(self, forward: Forward, output: Any, gradient: Tensor) -> list[Row]:
        with Replay():
            self.record.work_dtype = str(gradient.dtype).removeprefix("torch.")
            if self.record.work_dtype == "float64":
                self.record.work_dtype = "float32"
            ids, mask = forward.input_ids, forward.attention_mask
            there = torch.ones_like(ids) if mask is None else mask
            table = [x.detach().cpu() for x in (ids, there > 0, logits_of(output).double(), -gradient.double())]
        return [row_of(row[kept].numpy(), float(r), float(w)) for row, kept, r, w in zip(*table)]

    def _close(self, window: CapturedWindow) -> None:
        order = sorted({a.backward for a in window.arrivals})
        rows = [row for a in window.arrivals for row in numbered(a.reading, order.index(a.backward))]
        shape = (len(order), len(window.arrivals), window.stepped, window.reached, window.trainable)
        note(self.record, Window(rows, [], *shape, 0.0), self._model)


def numbered(rows: list[Row], micro_batch: int) -> list[Row]:
    """The rows of a micro-batch."""
    for row in rows:
        row.micro_batch = micro_batch
    return rows


def row_of(ids: Any, reward: float, weight: float) -> Row:
    """A row of a record, its reward at its last token.

    Raises:
        ValueError: a row of one token, of which no place is left.
    """
    if ids.size < 2:
        raise ValueError(f"a row of {ids.size} tokens has no place for its reward: give it two")
    last = np.arange(ids.size - 1) == ids.size - 2

    def at_last(value: float, elsewhere: float) -> Any:
        return np.where(last, value, elsewhere)

    return Row(
        ids=ids,
        micro_batch=0,
        target=ids[1:],
        scored=last,
        intended=last.copy(),
        weight=at_last(weight, 0.0),
        cosine=at_last(np.sign(weight) or np.nan, np.nan),
        remainder=np.zeros(last.size),
        uniform=np.zeros(last.size),
        loss=at_last(-reward, np.nan),
        uniform_loss=np.full(last.size, np.nan),
        amplification=at_last(0.5, np.nan),
        backward_weight=at_last(weight, 0.0),
    )

"""The weight of every target at a model's own logits, whatever head they come from and whatever it is trained on.

At logits z [v] the gradient of -log p(y) is r = softmax(z) - onehot(y). Its only negative entry is that of y, so the
gradient that arrives says itself which class was trained: no shift and no labels are taken for granted.

    w = <g, r>/|r|^2

Letters: b rows, t tokens, v classes, n positions.
"""

import math
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from ..leak_loss import named
from ..readout import read_weights
from ..record import Record, Row, Window


class LogitReader:
    """While entered, notes each logits tensor that a model returns with gradients on, and the gradient that it gets."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.arrived: list[tuple[Tensor, Tensor]] = []

    def __enter__(self) -> "LogitReader":
        self._hook = self.model.register_forward_hook(self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._hook.remove()

    def _note(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        logits = named(output, "logits")
        if isinstance(logits, Tensor) and logits.requires_grad:
            kept = logits.detach().clone()
            logits.register_hook(lambda gradient: self.arrived.append((kept, gradient.detach().clone())))

    def record(self) -> Record:
        """What arrived as one window, a micro-batch for each backward.

        Raises:
            ValueError: no gradient came to the logits, or one that is not finite.
        """
        found = [(z, g) for z, g in self.arrived if bool(g.any())]
        if not found:
            raise ValueError(f"no gradient came to the logits that {type(self.model).__name__} returned")
        if not all(bool(g.isfinite().all()) for _, g in found):
            raise ValueError(f"the gradient at the logits of {type(self.model).__name__} is not finite")
        rows = [row for m, (z, g) in enumerate(found) for row in read_rows(z, g, m)]
        dtype = str(found[0][0].dtype).removeprefix("torch.")
        record = Record("logits", "the logits", found[0][0].shape[-1], dtype, dtype)
        record.windows.append(Window(rows, [], len(found), len(found), True, 1, 1, 0.0))
        return record


def read_rows(logits: Tensor, gradient: Tensor, micro_batch: int) -> list[Row]:
    """One row of the record for each of the batch; [b, v] logits make rows of one target each."""
    if logits.dim() == 2:
        logits, gradient = logits[:, None], gradient[:, None]
    rows = []
    for logits_tv, gradient_tv in zip(logits.double(), gradient.double()):
        target_t = gradient_tv.argmin(-1)
        scored_t = (gradient_tv != 0).any(-1)
        unit_tv = torch.softmax(logits_tv, -1) - nn.functional.one_hot(target_t, logits_tv.shape[-1])
        read = read_weights(gradient_tv, unit_tv)
        nothing = torch.zeros_like(read.weight)
        weight, remainder = (torch.where(scored_t, x, 0.0).numpy() for x in (read.weight, read.remainder))
        loss_t = -torch.log_softmax(logits_tv, -1).gather(-1, target_t[:, None])[:, 0]
        rows.append(
            Row(
                # Each target follows its position: which token of the batch it is, is another check's question.
                ids=nn.functional.pad(target_t, (1, 0), value=-1).numpy(),
                micro_batch=micro_batch,
                target=target_t.numpy(),
                scored=scored_t.numpy(),
                intended=scored_t.numpy().copy(),
                weight=weight,
                cosine=read.cosine.numpy(),
                remainder=remainder,
                uniform=nothing.numpy(),
                loss=loss_t.numpy(),
                uniform_loss=torch.full_like(nothing, math.nan).numpy(),
                amplification=torch.where(scored_t, 1 / unit_tv.norm(dim=-1), math.nan).numpy(),
                backward_weight=weight,
            )
        )
    return rows


def shifts_of(rows: list[Row], ids_bt: list[list[int]]) -> dict[int | None, int]:
    """How many positions are trained on the token so many places on; None counts what is no token of the row."""
    found: dict[int | None, int] = {}
    for row, ids in zip(rows, ids_bt):
        for t in row.scored.nonzero()[0].tolist():
            shift = ids.index(row.target[t]) - t if row.target[t] in ids else None
            found[shift] = found.get(shift, 0) + 1
    return found


def trained_shift(model: nn.Module, given: dict[str, Any]) -> int:
    """By how many places a head shifts the labels of most positions.

    Raises:
        ValueError: most are trained on no token of their row.
    """
    with LogitReader(model) as reader:
        model(**given).loss.backward()
    found = shifts_of(reader.record().windows[0].rows, given["input_ids"].tolist())
    shift = max(found, key=lambda s: found[s])
    if shift is None:
        raise ValueError(f"{type(model).__name__} trains most of its positions on no token of their row")
    return shift

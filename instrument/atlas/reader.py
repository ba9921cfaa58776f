"""The weight of every target at a model's own logits, whatever head they come from and whatever it is trained on.

The gradient of -log p(y) has one negative entry, that of y, so the gradient that arrives says itself which class was
trained: no shift and no labels are taken for granted. Several labels of a row, and values, are taken as given.
"""

from types import TracebackType
from typing import Any

from torch import Tensor, nn

from ..leak_loss import named
from ..logits import CLASSES, kind_of, read_rows
from ..record import Record, Row, Window


class LogitReader:
    """While entered, notes each logits tensor that a model returns with gradients on, and the gradient that it gets.

    Args:
        model: is watched.
        in_place: its labels say what each place is trained on; else the gradient is asked, which says nothing of a
            target that the model is certain of.
    """

    def __init__(self, model: nn.Module, in_place: bool = False) -> None:
        self.model, self.in_place = model, in_place
        self.arrived: list[tuple[Tensor, Tensor, Tensor | None]] = []

    def __enter__(self) -> "LogitReader":
        self._hook = self.model.register_forward_hook(self._note, with_kwargs=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._hook.remove()

    def _note(self, module: nn.Module, args: tuple[Any, ...], given: dict[str, Any], output: Any) -> None:
        logits, labels = named(output, "logits"), given.get("labels")
        if isinstance(logits, Tensor) and logits.requires_grad:
            kept = logits.detach().clone()
            logits.register_hook(lambda gradient: self.arrived.append((kept, gradient.detach().clone(), labels)))

    def record(self) -> Record:
        """What arrived as one window, a micro-batch for each backward.

        Raises:
            ValueError: no gradient came to the logits, or one that is not finite.
        """
        found = [(z, g, y) for z, g, y in self.arrived if bool(g.any())]
        if not found:
            raise ValueError(f"no gradient came to the logits that {type(self.model).__name__} returned")
        if not all(bool(g.isfinite().all()) for _, g, _ in found):
            raise ValueError(f"the gradient at the logits of {type(self.model).__name__} is not finite")
        rows = []
        for m, (z, g, labels) in enumerate(found):
            kind = kind_of(self.model, labels)
            rows += read_rows(z.double(), g, m, labels if self.in_place or kind != CLASSES else None, kind)
        dtype = str(found[0][0].dtype).removeprefix("torch.")
        record = Record("logits", "the logits", max(2, found[0][0].shape[-1]), dtype, dtype)
        record.windows.append(Window(rows, [], len(found), len(found), True, 1, 1, 0.0))
        return record


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

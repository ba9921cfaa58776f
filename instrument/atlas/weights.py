"""The weight checks of the atlas: accumulation under the Trainer, the head, and which token is trained."""

from typing import Any

import numpy as np
import torch

from ..api import watch
from ..leak_loss import IGNORED
from ..loops.data import padding_collator
from ..loops.trainer import run_trainer
from ..readable import readable_weights
from ..report.report import Report
from ..verdict import judge
from . import batches
from .cell import DEVIATES, NO_READING, NOT_APPLICABLE, OK, Cell
from .heads import CAUSAL, batch_for, scores_next_tokens
from .leaks import takes
from .reader import LogitReader, shifts_of, trained_shift


def accumulated(model: Any, micro_batches: int, head: str = CAUSAL) -> Cell:
    """One optimizer step of the Trainer on eight uneven rows in so many micro-batches."""
    with LogitReader(model, in_place=not scores_next_tokens(model, head)) as reader:
        train(model, micro_batches, head)
    return weighed(reader)


def train(model: Any, micro_batches: int, head: str = CAUSAL) -> None:
    """One optimizer step of the Trainer."""
    rows = batches.uneven_rows()
    collate = padding_collator("right", 0)

    def taken(items: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        return {name: value for name, value in batch_for(head, collate(items)).items() if takes(model, name)}

    size = len(rows) // micro_batches
    run_trainer(model, rows, micro_batch=size, accumulation=micro_batches, collator=taken)


def weighed(reader: LogitReader) -> Cell:
    """Largest |w N - 1| over the N targets that the head scored, and the formula that the weights follow."""
    record = reader.record()
    window = record.windows[0]
    verdict = judge(record, window)
    n = sum(int(row.scored.sum()) for row in window.rows)
    # A target that the model is certain of has no weight to be told.
    off = float(np.max(np.abs(readable_weights(record, window, "scored") * n - 1), initial=0.0))
    if verdict.ok:
        return Cell(OK, off, f"{verdict.name} over {n} targets")
    unread = verdict.name is None and "can be read" in "; ".join(verdict.faults)
    return Cell(NO_READING if unread else DEVIATES, off, "; ".join(verdict.faults))


def explained(model: Any, head: str = CAUSAL) -> Cell:
    """Does the live instrument's unit gradient explain the gradient, at the final hidden states or at the logits?"""
    if scores_next_tokens(model, head):
        shift = trained_shift(model, given_rows(model, head))
        if shift != 1:
            return Cell(
                NOT_APPLICABLE, None, f"the labels are shifted by {shift}, and the live instrument reads next tokens"
            )
        model.zero_grad()
    try:
        watching = watch(model)
    except ValueError as refusal:
        return Cell(NOT_APPLICABLE, None, str(refusal))
    with watching as report:
        backward(model, given_rows(model, head))
    left = remainder(report)
    said = f"at most {left:.1e} of a target's gradient is not its own"
    try:
        report.assert_pure_rescaling()
    except AssertionError:
        return Cell(DEVIATES, left, f"{said}: another term or target is in")
    return Cell(OK, left, said)


def remainder(report: Report) -> float:
    """Largest share of a target's gradient that its unit gradient leaves."""
    shares = [row.remainder[row.scored] / np.abs(row.weight[row.scored]) for row in report.rows]
    return float(np.nanmax(np.concatenate(shares), initial=0.0))


def targets(model: Any, head: str = CAUSAL) -> Cell:
    """Is each position trained on the token after it, or each place on its own label? The figure: how many are not."""
    given = given_rows(model, head)
    with LogitReader(model) as reader:
        backward(model, given)
    if not scores_next_tokens(model, head):
        return own_labels(reader, given["labels"])
    shifts = shifts_of(reader.record().windows[0].rows, given["input_ids"].tolist())
    total = sum(shifts.values())
    wrong = total - shifts.get(1, 0)
    missed = sum(label != -100 for labels in given["labels"].tolist() for label in labels[1:]) - total
    if not wrong and not missed:
        return Cell(OK, 0.0, f"the next token, at all {total} positions")
    known = {0: "their own token", 1: "the next token", 2: "the token after the next", None: "no token of their row"}
    words = [f"{n} positions are trained on {known.get(s, f'the token {s} places on')}" for s, n in shifts.items()]
    words += [f"{missed} targets are not trained"] if missed > 0 else []
    return Cell(DEVIATES, (wrong + max(missed, 0)) / (total + max(missed, 0)), "; ".join(words))


def own_labels(reader: LogitReader, labels: torch.Tensor) -> Cell:
    """The classes that the gradient says were trained, against the labels in place; the figure is a share of them."""
    rows = reader.record().windows[0].rows
    trained = np.concatenate([np.where(row.scored, row.target, IGNORED) for row in rows])
    label = labels.flatten().numpy()
    total, wrong = int(np.sum(label != IGNORED)), int(np.sum(trained != label))
    if not wrong:
        return Cell(OK, 0.0, f"its own label, at all {total} places")
    missed, extra = int(np.sum(trained[label != IGNORED] == IGNORED)), int(np.sum(trained[label == IGNORED] != IGNORED))
    said = f"of {total} labels {missed} are not trained and {wrong - missed - extra} as another class"
    return Cell(DEVIATES, wrong / total, f"{said}; {extra} places without a label are trained")


def given_rows(model: Any, head: str = CAUSAL) -> dict[str, Any]:
    """The documents padded on the right, as the head is trained on them and as far as the model takes it."""
    given = batch_for(head, batches.tensors(batches.padded("right")))
    return {name: value for name, value in given.items() if takes(model, name)}


def backward(model: Any, given: dict[str, Any]) -> None:
    """One backward of the model's own loss."""
    cache = {"use_cache": False} if takes(model, "use_cache") else {}
    model(**given, **cache).loss.backward()

"""The leak checks of the atlas: which document's loss depends on which other one's tokens, or on padding."""

import inspect
from typing import Any

import torch

from ..leak import find_leaks
from ..leak_passes import Passes
from ..leak_record import Leaks
from . import batches
from .build import Subject
from .cell import DEVIATES, NOT_APPLICABLE, OK, Cell
from .reader import trained_shift


def packed(lists: batches.Lists, attention: str = "", **arguments: Any) -> Any:
    """A check of documents that share a row; arguments are handed to the model where it takes them."""

    def run(subject: Subject) -> Cell:
        if attention and not subject.supports(attention):
            return Cell(NOT_APPLICABLE, None, f"{subject.kind} has no {attention} attention")
        model = subject.model(attention)
        if not takes(model, "position_ids"):
            return Cell(NOT_APPLICABLE, None, f"{subject.kind} takes no position_ids")
        # One of eager and sdpa is what was chosen by default, and has been measured.
        question = (model.config._attn_implementation, repr(lists), repr(arguments))
        if question not in subject.answered:
            given = {**batches.tensors(lists), **{k: v for k, v in arguments.items() if takes(model, k)}}
            subject.answered[question] = judged(find_leaks(model, given))
        return subject.answered[question]

    return run


def padded(model: Any, side: str) -> Cell:
    """One document in each row: neither another row nor padding may be read."""
    given = batches.tensors(batches.padded(side))
    if takes(model, "use_cache"):
        given["use_cache"] = False
    found = find_leaks(model, given)
    if found.pairs:
        return judged(found)
    with Passes(model, given) as passes:
        gradient_bt = passes.gradient(given["labels"] != -100)
    mask_bt = given["attention_mask"] != 0
    share = float(gradient_bt[~mask_bt].max() / gradient_bt[mask_bt].max())
    if share:
        return Cell(DEVIATES, share, f"the loss depends on padding: gradient {share:.1e} of the largest at a token")
    return Cell(OK, 0.0, "exactly 0.0 at every other row and at padding")


def causal(model: Any) -> Cell:
    """The loss of the label at each place in turn may reach no input behind the position that is trained on it."""
    given = batches.tensors(batches.even())
    if takes(model, "use_cache"):
        given["use_cache"] = False
    shift = trained_shift(model, given)
    behind = own = 0.0
    with Passes(model, given) as passes:
        for t in range(shift, given["labels"].shape[1]):
            labelled_bt = torch.zeros_like(given["labels"], dtype=torch.bool)
            labelled_bt[:, t] = True
            gradient_bt = passes.gradient(labelled_bt)
            later_bt = gradient_bt.clone()
            later_bt[:, : t - shift + 1] = 0
            behind = max(behind, float(later_bt.max()))
            own = max(own, float(gradient_bt.max()))
    if behind:
        said = f"the loss depends on later tokens: gradient {behind / own:.1e} of the largest"
        return Cell(DEVIATES, behind / own, said)
    return Cell(OK, 0.0, "exactly 0.0 at every later token")


def judged(found: Leaks) -> Cell:
    """Largest gradient at a foreign token over the largest own one; causality is another question."""
    if not found.pairs:
        return Cell(OK, 0.0, "exactly 0.0 at every foreign token")
    n = len(found.sequences)
    largest = max(pair.gradient for pair in found.pairs) / found.own
    said = f"{len(found.pairs)} of {n * (n - 1)} ordered pairs of documents leak"
    return Cell(DEVIATES, largest, f"{said}: gradient {largest:.1e} of the largest own one")


def takes(model: Any, name: str) -> bool:
    """Whether the model's forward takes an argument of that name."""
    parameters = inspect.signature(model.forward).parameters.values()
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)

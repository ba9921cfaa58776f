"""The leak checks of the atlas: which document's loss depends on which other one's tokens, or on padding."""

import inspect
from dataclasses import replace
from typing import Any

import torch

from ..leak import find_leaks
from ..leak_loss import IGNORED
from ..leak_passes import Passes
from ..leak_record import Leaks
from . import batches
from .build import Subject
from .cell import DEVIATES, NOT_APPLICABLE, OK, Cell
from .heads import CAUSAL, DECODER, HEADS, NEXT, ROWS, batch_for, scores_next_tokens
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


def padded(model: Any, side: str, head: str = CAUSAL) -> Cell:
    """One document in each row: neither another row nor padding may be read."""
    rows = batches.tensors(batches.padded(side))
    given: dict[str, Any] = batch_for(head, rows)
    loss, choices = None, 1
    if HEADS[head].scores == ROWS:
        choices = given["input_ids"].numel() // rows["input_ids"].numel()
        given, loss = for_rows(given)
    if not scores_next_tokens(model, head) and HEADS[head].scores in (NEXT, DECODER):
        # Of its own, since what the decoder reads would else be made of the labels, of which a pass leaves out most.
        given |= {"decoder_input_ids": given["input_ids"], "decoder_attention_mask": given["attention_mask"]}
    given = {name: value for name, value in given.items() if takes(model, name)}
    if takes(model, "use_cache"):
        given["use_cache"] = False
    found = find_leaks(model, given, loss=loss)
    # The choices of one row are scored against each other.
    apart = tuple(pair for pair in found.pairs if pair.target // choices != pair.source // choices)
    if apart:
        return judged(replace(found, pairs=apart))
    with Passes(model, given, loss) as passes:
        gradient_bt = passes.gradient(given["labels"] != -100)
    mask_bt = torch.as_tensor(batches.padded(side)["attention_mask"]).repeat_interleave(choices, 0) != 0
    share = float(gradient_bt[~mask_bt].max() / gradient_bt[mask_bt].max())
    if share:
        return Cell(DEVIATES, share, f"the loss depends on padding: gradient {share:.1e} of the largest at a token")
    return Cell(OK, 0.0, "exactly 0.0 at every other row and at padding")


def for_rows(given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """A batch of rows with one label each, as what looks for leaks takes it: a label for each token, and the loss.

    Rows are those of tokens, so the choices of one stand below each other; a row is scored when its first is labelled.
    """
    ids, labels_b = given["input_ids"], given["labels"]
    flat = {name: value.reshape(-1, ids.shape[-1]) for name, value in given.items() if name != "labels"}
    b = labels_b.shape[0]

    def loss(model: Any, batch: dict[str, Any]) -> torch.Tensor:
        scored_b = (batch["labels"] != IGNORED).reshape(b, -1).any(-1)
        told = {name: v.reshape(ids.shape) if name in flat else v for name, v in batch.items()}
        given_loss: torch.Tensor = model(**{**told, "labels": torch.where(scored_b, labels_b, IGNORED)}).loss
        return given_loss

    return {**flat, "labels": flat["input_ids"].clone()}, loss


def causal(model: Any, head: str = CAUSAL) -> Cell:
    """The loss of the label at each place in turn may reach no input behind the position that is trained on it."""
    given = batches.tensors(batches.even())
    if takes(model, "use_cache"):
        given["use_cache"] = False
    shift, loss = (trained_shift(model, given), None) if scores_next_tokens(model, head) else (0, decoder_alone(given))
    behind = own = 0.0
    with Passes(model, given, loss) as passes:
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


def decoder_alone(given: dict[str, Any]) -> Any:
    """A loss for which the tokens of the batch are those of the decoder; the encoder reads them from behind."""

    def loss(model: Any, batch: dict[str, Any]) -> torch.Tensor:
        found: torch.Tensor = model(
            **{**batch, "input_ids": given["input_ids"].flip(1), "decoder_input_ids": batch["input_ids"]}
        ).loss
        return found

    return loss


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

"""The fixed set of checks of the atlas, as a table."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import batches, checkpointing, leaks, repro, weights
from .build import Subject
from .cell import Cell
from .heads import CAUSAL, DECODER, HEADS, NEXT, ROWS, TOKENS, batch_for


@dataclass(frozen=True)
class Check:
    """One question to every architecture.

    Attributes:
        name: of the check, and of its column.
        asks: in words, with the unit of the figure.
        run: answers it.
        tail: what asks it again, as the end of a script; see repro.
    """

    name: str
    asks: str
    run: Callable[[Subject], Cell]
    tail: repro.Tail


def all_checks(head: str = CAUSAL) -> list[Check]:
    """Every check that applies to a head, in the order of the columns."""
    foreign = "the figure is the largest foreign gradient over the largest own one"
    later = "the figure is the largest gradient at one over the largest of all"
    off = "what does each target weigh; the figure is the largest |w N - 1|"
    same = "is every parameter's gradient the same; the figure is the largest difference over the largest entry of all"
    share = "the figure is the largest share of a target's gradient that it leaves"

    def packed(name: str, how: str, lists: batches.Lists, attention: str = "", **arguments: Any) -> Check:
        asks = f"does a document read another one of its row, {how}; {foreign}"
        tail = repro.leaks(lists, attention, **arguments)
        return Check(name, asks, leaks.packed(lists, attention, **arguments), tail)

    def trained(name: str, asks: str, function: Callable[..., Cell], **arguments: Any) -> Check:
        arguments |= {} if head == CAUSAL else {"head": head}
        call = f"{function.__name__}(model{''.join(f', {k}={v!r}' for k, v in arguments.items())})"
        where = function.__module__.rpartition(".")[2]
        ask = partial(function, **arguments)
        return Check(name, asks, lambda subject: ask(subject.fresh()), repro.called(where, call))

    one = f"one micro-batch of the Trainer: {off}"
    four = f"four of them, uneven: {off}"
    flat, again = labelled(batches.packed(), head), "position_ids that start again"
    read = HEADS[head].scores
    next_tokens = [
        packed("packed, default call", again, flat),
        packed("packed, mask of ones", f"{again}, use_cache=False", batches.packed_with_ones(), use_cache=False),
        packed("packed, two rows", f"{again}, use_cache=False", batches.two_packs(), use_cache=False),
        packed("packed, eager", f"{again}, use_cache=False, eager attention", flat, "eager", use_cache=False),
        packed("packed, sdpa", f"{again}, use_cache=False, sdpa attention", flat, "sdpa", use_cache=False),
    ]
    no_cache = packed("packed, no cache", f"{again}, use_cache=False", flat, use_cache=False)
    apart = [
        trained("padded right", f"does a row read another row or padding; {foreign}", leaks.padded, side="right"),
        trained("padded left", f"does a row read another row or padding; {foreign}", leaks.padded, side="left"),
    ]
    causality = trained("causality", f"does a loss depend on later tokens; {later}", leaks.causal)
    whose = "the next token" if read == NEXT else "each place's own label"
    targets = trained("targets", f"is {whose} trained; the figure is the share of others", weights.targets)
    weighed = [
        trained("accumulation, M = 1", one, weights.accumulated, micro_batches=1),
        trained("accumulation, M = 4", four, weights.accumulated, micro_batches=4),
        trained("head", f"does the live unit gradient explain the gradient; {share}", weights.explained),
    ]
    checkpointed = [
        trained("checkpointing", f"not reentrant: {same}", checkpointing.same_gradient, reentrant=False),
        trained("checkpointing, reentrant", f"reentrant: {same}", checkpointing.same_gradient, reentrant=True),
    ]
    if read == NEXT:
        first, *others = next_tokens
        return [first, no_cache, *others, *apart, causality, targets, *weighed, *checkpointed]
    if head in ("multi-label", "regression"):
        # The model is that of sequence classification, with another loss.
        return weighed
    packs = {TOKENS: [no_cache], DECODER: [], ROWS: []}[read]
    return [*packs, *apart, *([causality] if read == DECODER else []), targets, *weighed, *checkpointed]


def labelled(lists: batches.Lists, head: str) -> batches.Lists:
    """A batch with the labels that a head is trained on."""
    if HEADS[head].scores == ROWS:
        return lists
    return {name: value.tolist() for name, value in batch_for(head, batches.tensors(lists)).items()}

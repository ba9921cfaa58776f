"""A search for leaks in a batch of the run itself, before the run's own forward of it: see leak.find_leaks."""

from typing import Any

import torch
from torch import Tensor, nn

from ..capture import Replay, inside_backward
from ..forward import named_arguments, token_ids
from ..gathering import place, sharded
from ..leak import find_leaks
from ..leak_loss import IGNORED, NothingToSay
from ..leak_record import Leaks
from .certificate import Witness
from .finding import FAULT, Finding

BATCHES = 4


class LeakSearch:
    """Looks at the first batch that has something to say, of the first few.

    Attributes:
        found: what the search says; None when there was none, and `why`.
        labelled: the batch had no labels, so that each token was taken for its own.
    """

    def __init__(self, model: nn.Module, witness: Witness) -> None:
        self.found: Leaks | None = None
        self.why = "no batch with token ids came"
        self.labelled = False
        self._witness = witness
        self._left = BATCHES
        if place()[0] > 0:
            self.why, self._left = "rank 0 searches its own batch, and this is another", 0
        if any(sharded(p) for p in model.parameters()):
            self.why, self._left = "each rank holds a part of the parameters, and one cannot run the model alone", 0
        self._handle = model.register_forward_pre_hook(self._before, with_kwargs=True)

    def stop(self) -> None:
        """Take the hook off."""
        self._handle.remove()

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._left and not Replay.running and torch.is_grad_enabled() and not inside_backward():
            try:
                self._witness(self._search, module, named_arguments(module, args, kwargs))
            # The run must go on as it would have without us.
            except Exception as problem:
                self.why, self._left = str(problem), 0

    def _search(self, module: nn.Module, batch: dict[str, Any]) -> None:
        ids = token_ids(batch)
        if ids is None:
            return
        self._left -= 1
        # What TRL's head is asked for stands in the place of logits.
        batch = {name: value for name, value in batch.items() if name != "fused_lm_head"}
        self.labelled = batch.get("labels") is None
        if self.labelled:
            batch = {**batch, "labels": own_labels(ids, batch.get("attention_mask"))}
        try:
            self.found, self.why = find_leaks(module, batch), ""
        except NothingToSay as reason:
            self.why = str(reason)
        else:
            self._left = 0


def own_labels(ids_bt: Tensor, mask: Any) -> Tensor:
    """[b, t] each token as its own label; none on padding."""
    flat = isinstance(mask, Tensor) and mask.shape == ids_bt.shape
    return torch.where(mask > 0, ids_bt, IGNORED) if flat else ids_bt.clone()


def findings_of(leaks: Leaks) -> list[Finding]:
    """What of a search is a fault, in words."""
    n, found = len(leaks.sequences), []
    if leaks.pairs:
        pair = leaks.pairs[0]
        target, source = (f"{i} ({leaks.sequences[i]})" for i in (pair.target, pair.source))
        said = f"a document sees another: the loss of sequence {target} depends on the tokens of sequence {source}"
        found.append(Finding("leak", FAULT, f"{said}; so do {len(leaks.pairs)} of {n * (n - 1)} ordered pairs", (0,)))
    for ahead in leaks.ahead[:1]:
        said = f"a token sees what follows it: the loss of targets up to token {ahead.target} of sequence"
        said += f" {ahead.sequence} ({leaks.sequences[ahead.sequence]}) depends on token {ahead.position}"
        found.append(Finding("not-causal", FAULT, said, (0,)))
    return found

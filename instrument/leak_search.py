"""The passes of one search for leaks, and what they showed.

Letters: b rows, t tokens, n sequences; i whose loss, j whose inputs.
"""

import itertools
import math
from typing import Any

import torch
from torch import Tensor

from .leak_loss import IGNORED, Blind, NothingToSay
from .leak_passes import Passes
from .leak_record import Ahead, Pair
from .leak_sequences import find_sequences


class Search:
    """The passes of one search and what they showed."""

    def __init__(self, passes: Passes, documents: Any) -> None:
        self.passes = passes
        shape = (passes.labels_bt.shape[0], passes.labels_bt.shape[1])
        self.number_bt, self.spans = find_sequences(passes.batch, shape, documents)
        self.labelled_bt = passes.labels_bt.cpu() != IGNORED
        self.labelled_bt[:, 0] = False
        self.scored = self.number_bt[self.labelled_bt & (self.number_bt >= 0)].unique().tolist()
        if not self.scored:
            raise NothingToSay(
                "no sequence has a target behind its row's first token: there is no loss that could leak"
            )
        n = len(self.spans)
        # Whether i may still reach j, as far as the passes say.
        self.possible = torch.zeros(n, n, dtype=torch.bool)
        self.possible[self.scored] = ~torch.eye(n, dtype=torch.bool)[self.scored]
        # Groups that were labelled, and the loss of each.
        self.groups: list[tuple[list[int], float]] = []
        self.own = 0.0
        self.read: set[int] = set()
        self.ahead: list[tuple[Ahead, int | None]] = []
        self.alone: dict[tuple[int, int | None], list[Ahead]] = {}
        start = torch.tensor([span.start for span in self.spans])[self.number_bt.clamp(min=0)]
        # Number of each token within its sequence.
        self.place_bt = torch.arange(shape[1]) - start

    def test_groups(self) -> None:
        """Label group by group, so that each ordered pair is put to the test."""
        for numbers in separating_groups(len(self.spans)):
            group = [i for i in numbers if i in self.scored]
            if group:
                self.rule_out(group)
                self.groups.append((group, self.passes.value))

    def locate(self, group: list[int]) -> list[Pair]:
        """Halve what is left of the labelled side until each guilty sequence has been labelled alone."""
        group = [i for i in group if self.possible[i].any()]
        if len(group) < 2:
            return [pair for i in group for pair in self.pairs_of(i)]
        middle = len(group) // 2
        pairs = []
        for half in (group[:middle], group[middle:]):
            if len(half) > 1:
                self.rule_out(half)
            pairs += self.locate(half)
        return pairs

    def rule_out(self, group: list[int]) -> None:
        """Label a group: whoever outside of it gets no gradient is reached by none in it."""
        gradient_n = self.largest(self.run(group))
        outside = torch.ones(len(self.spans), dtype=torch.bool)
        outside[group] = False
        untouched = outside & (gradient_n == 0)
        self.possible[torch.tensor(group)[:, None], untouched.nonzero()[:, 0]] = False

    def pairs_of(self, i: int) -> list[Pair]:
        """Label one sequence alone."""
        gradient_bt = self.run([i])
        pairs = []
        for j, largest in enumerate(self.largest(gradient_bt).tolist()):
            if j != i and largest > 0:
                span = self.spans[j]
                position = int(torch.where(self.number_bt[span.row] == j, gradient_bt[span.row], -1).argmax())
                pairs.append(Pair(i, j, position, largest))
        return pairs

    def run(self, group: list[int], upto: int | None = None) -> Tensor:
        """[b, t] gradient of the loss of the labels of a group, of each up to its token number `upto`."""
        inside_bt = torch.isin(self.number_bt, torch.tensor(group))
        chosen_bt = self.labelled_bt & inside_bt
        if upto is not None:
            chosen_bt &= self.place_bt <= upto
        gradient_bt = self.passes.gradient(chosen_bt)
        self.own = max(self.own, float(gradient_bt[inside_bt].max()))
        own_n = self.largest(gradient_bt)
        self.read.update(i for i in group if own_n[i] > 0)
        found = [ahead for i in group for ahead in self.look_ahead(i, chosen_bt, gradient_bt)]
        self.ahead += [(ahead, upto) for ahead in found]
        if len(group) == 1:
            self.alone[group[0], upto] = found
        return gradient_bt

    def look_ahead(self, i: int, chosen_bt: Tensor, gradient_bt: Tensor) -> list[Ahead]:
        """A gradient at inputs of sequence i that are its last labelled target or stand behind it."""
        row = self.spans[i].row
        mine_t = self.number_bt[row] == i
        targets = (mine_t & chosen_bt[row]).nonzero()[:, 0].tolist()
        if not targets:
            return []
        behind_t = torch.where(mine_t & (torch.arange(len(mine_t)) >= targets[-1]), gradient_bt[row], 0.0)
        largest, position = float(behind_t.max()), int(behind_t.argmax())
        return [Ahead(i, targets[-1], position, largest)] if largest > 0 else []

    def test_positions(self) -> None:
        """Label the targets of all sequences up to each place in turn; each place is then the last labelled once."""
        for place in self.place_bt[self.labelled_bt & (self.number_bt >= 0)].unique().tolist():
            self.run(self.scored, upto=place)

    def confirm_ahead(self, pairs: list[Pair]) -> list[Ahead]:
        """One broken causality for each sequence; where the loss of another one leaks in, labelled alone to tell."""
        entered = {pair.source for pair in pairs}
        confirmed: dict[int, Ahead] = {}
        for found, upto in list(self.ahead):
            i = found.sequence
            if i in confirmed:
                continue
            if i in entered and (i, upto) not in self.alone:
                self.run([i], upto)
            for ahead in self.alone[i, upto] if i in entered else [found]:
                confirmed[i] = ahead
        return [confirmed[i] for i in sorted(confirmed)]

    def refuse_blind(self) -> None:
        """Raise when a leak, were there one, could not have been seen. Asked when there was none.

        One target of each sequence is labelled, the last one as a rule, and others where that one sees a single input.

        Raises:
            Blind: the loss of a sequence depends on none of its own inputs, or no target's on an input that is
                not right before it, so that nothing would carry a leak.
        """
        unread = [str(self.spans[i]) for i in self.scored if i not in self.read]
        if unread:
            more = f" and {len(unread) - 3} more" if len(unread) > 3 else ""
            raise Blind(
                f"the loss of {'; '.join(unread[:3])}{more} depends on none of its own tokens, so a leak into it could "
                f"not be seen either: label it {IGNORED}, or give a loss= that scores it"
            )
        hopeful = False
        for behind in range(self.number_bt.shape[1]):
            chosen_bt, before_bt = torch.zeros_like(self.labelled_bt), torch.zeros_like(self.labelled_bt)
            for i in self.scored:
                b = self.spans[i].row
                targets = (self.labelled_bt[b] & (self.number_bt[b] == i)).nonzero()[:, 0].tolist()
                if behind < len(targets):
                    t = targets[-1 - behind]
                    chosen_bt[b, t] = True
                    before_bt[b, : t - 1] |= self.number_bt[b, : t - 1] == i
            if before_bt.any():
                hopeful = True
                if (self.passes.gradient(chosen_bt)[before_bt] > 0).any():
                    return
        if hopeful:
            raise Blind(
                "no target's loss depends on any token but the one before it: nothing in this model carries from token "
                "to token (the output of its attention is zero?), so a leak could not be seen; give it other weights"
            )
        raise Blind(
            "no sequence has a target behind its second token, so whether this model carries anything from token to "
            "token cannot be seen, and a leak neither: give a batch with a sequence of three tokens"
        )

    def largest(self, gradient_bt: Tensor) -> Tensor:
        """[n] largest gradient at any token of each sequence."""
        flat, number = gradient_bt.flatten(), self.number_bt.flatten()
        kept = number >= 0
        return torch.zeros(len(self.spans), dtype=flat.dtype).scatter_reduce(0, number[kept], flat[kept], "amax")


def separating_groups(n: int) -> list[list[int]]:
    """Fewest groups of 0 ... n - 1 such that for each ordered pair (i, j) some group holds i and not j.

    The number of groups is the smallest k with C(k, k/2) >= n, which is at most 2 ceil(log2 n): each number is put in
    k/2 of them, a different choice for each, so that none's groups are among another's (Sperner 1928).
    """
    k = next(k for k in itertools.count(2) if math.comb(k, k // 2) >= n)
    groups: list[list[int]] = [[] for _ in range(k)]
    for i, chosen in enumerate(itertools.islice(itertools.combinations(range(k), k // 2), n)):
        for group in chosen:
            groups[group].append(i)
    return groups

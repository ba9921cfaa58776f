"""What a search for leaks found. Numbers and places only.

Letters: n sequences of the batch, i whose loss, j whose inputs.
"""

from dataclasses import dataclass

import numpy as np

from .leak_sequences import Span
from .record import Bools


@dataclass(frozen=True)
class Pair:
    """The loss of one sequence depends on the inputs of another.

    Attributes:
        target: number of the sequence whose loss it is.
        source: number of the sequence whose inputs it depends on.
        position: token of the source's row where the gradient is largest.
        gradient: largest entry of the gradient there, of the loss of this target sequence alone.
    """

    target: int
    source: int
    position: int
    gradient: float


@dataclass(frozen=True)
class Ahead:
    """The loss of a sequence's targets depends on one of its inputs that no target comes after.

    Attributes:
        sequence: its number.
        target: the last token, in its row, whose loss was taken.
        position: the input at or behind it where the gradient is largest.
        gradient: largest entry of the gradient there.
    """

    sequence: int
    target: int
    position: int
    gradient: float


@dataclass(frozen=True)
class Change:
    """The loss of a sequence moves when tokens of others are changed.

    Attributes:
        target: number of the sequence whose loss it is.
        sources: numbers of the sequences whose tokens were changed: one, or several that move it together only.
        size: by how much it moves.
        loss: what it was before, of this sequence alone.
    """

    target: int
    sources: tuple[int, ...]
    size: float
    loss: float

    def told(self) -> str:
        """What moves by which tokens, to begin an error with."""
        return (
            f"the loss of sequence {self.target} moves by {self.size:.1e} when tokens of sequences "
            f"{list(self.sources)} are changed"
        )


@dataclass(frozen=True)
class Changes:
    """What changed tokens moved that gradient does not show.

    Attributes:
        found: for each group that moved, the sequence of it that moves most, each once; there may be others.
        passes: forward passes.
    """

    found: tuple[Change, ...]
    passes: int


@dataclass(frozen=True)
class Leaks:
    """Which losses depend on inputs that they must not depend on; false when none does.

    Attributes:
        sequences: the n sequences of the batch, row by row.
        pairs: every ordered pair of sequences that leaks.
        ahead: sequences whose loss depends on inputs behind it: causality is broken.
        own: largest gradient at a sequence's own embeddings, to compare with.
        passes: backward passes that searched, at most 2*ceil(log2 n).
        more_passes: backward passes beyond these: to locate what was found, or to see that a leak could be seen.
        balance: the model's loss holds a term over all tokens of the batch, such as the balance of experts.
        changes: what changed tokens moved, when that was asked for and gradient shows no pair.
    """

    sequences: tuple[Span, ...]
    pairs: tuple[Pair, ...]
    ahead: tuple[Ahead, ...]
    own: float
    passes: int
    more_passes: int
    balance: bool
    changes: Changes | None = None

    def __bool__(self) -> bool:
        return bool(self.pairs or self.ahead or (self.changes and self.changes.found))

    def pattern(self) -> Bools:
        """[n][n]: whether the loss of sequence i was seen to depend on inputs of sequence j; true on the diagonal."""
        found = np.eye(len(self.sequences), dtype=np.bool_)
        for pair in self.pairs:
            found[pair.target, pair.source] = True
        for change in self.changes.found if self.changes else ():
            found[change.target, list(change.sources)] = True
        return found

    def boundaries(self) -> list[Span]:
        """Sequences that a leak enters from the one right before them in their row: where they start is broken."""
        behind = {pair.target for pair in self.pairs if pair.source == pair.target - 1 and self.same_row(pair)}
        return [self.sequences[i] for i in sorted(behind)]

    def same_row(self, pair: Pair) -> bool:
        """Whether both sequences of a pair lie in one row."""
        return self.sequences[pair.target].row == self.sequences[pair.source].row

    def __str__(self) -> str:
        n, shown = len(self.sequences), 8
        if not self:
            clean = f"no leak: {n} sequences, {self.passes} backward passes, every foreign gradient exactly 0.0"
            if self.changes:
                clean += (
                    f"\n  {self.changes.passes} forward passes with the others' tokens changed, every loss the same "
                )
                clean += "bit for bit"
            return clean
        lines = []
        if self.pairs:
            lines.append(f"LEAK: {len(self.pairs)} of {n * (n - 1)} ordered pairs of {n} sequences")
        lines += [self.describe(pair) for pair in self.pairs[:shown]]
        if len(self.pairs) > shown:
            lines.append(f"  ... and {len(self.pairs) - shown} more pairs")
        starts = [f"row {span.row}, before token {span.start}" for span in self.boundaries()]
        if starts:
            more = f" ... and {len(starts) - shown} more" if len(starts) > shown else ""
            lines.append(f"  broken boundaries: {'; '.join(starts[:shown])}{more}")
        if self.changes and self.changes.found:
            lines.append("LEAK that gradient does not show: changed tokens move the loss of another sequence")
            lines += [self.describe_change(change) for change in self.changes.found[:shown]]
        for ahead in self.ahead[:shown]:
            lines.append(
                f"NOT CAUSAL: sequence {ahead.sequence} ({self.sequences[ahead.sequence]}): the loss of its targets up "
                f"to token {ahead.target} depends on token {ahead.position} (gradient {ahead.gradient:.2e})"
            )
        if len(self.ahead) > shown:
            lines.append(f"  ... and {len(self.ahead) - shown} more sequences that are not causal")
        if self.balance:
            lines.append("  the model's loss holds an aux_loss over all tokens, which couples them by design: leave it")
            lines.append("  out (output_router_logits=False) to see what else does")
        return "\n".join(lines)

    def describe_change(self, change: Change) -> str:
        """One change in a line."""
        named = [f"{j} ({self.sequences[j]})" for j in change.sources[:3]]
        more = f" and {len(change.sources) - 3} more together" if len(change.sources) > 3 else ""
        return (
            f"  the loss of sequence {change.target} ({self.sequences[change.target]}), {change.loss:.3g}, moves by "
            f"{change.size:.2e} with the tokens of {', '.join(named)}{more}"
        )

    def describe(self, pair: Pair) -> str:
        """One pair in a line."""
        target, source = self.sequences[pair.target], self.sequences[pair.source]
        return (
            f"  the loss of sequence {pair.target} ({target}) depends on sequence {pair.source} ({source}): "
            f"gradient {pair.gradient:.2e} at token {pair.position}, {pair.gradient / self.own:.1e} of its own"
            if self.own
            else f"  the loss of sequence {pair.target} ({target}) depends on sequence {pair.source} ({source})"
        )


@dataclass(frozen=True)
class LeakRun:
    """A search in a loop.

    Attributes:
        leaks: what it found.
        changes: settings of the loop that differ from the library's defaults, and why.
    """

    leaks: Leaks
    changes: dict[str, str]

"""What was measured: rows of tokens with their weights, grouped into micro-batches and windows. Numbers only.

Letters: n positions of a row that have a next token.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass
class Row:
    """One sequence of one micro-batch, its padding taken off.

    Attributes:
        ids: [n + 1] token ids.
        micro_batch: backward in which its gradient came, 0 for the first of the window.
        target: [n] the token that position i is scored on.
        scored: [n] the target carried a label that the loss was given (where no label passed through the model: a
            gradient came for it).
        intended: [n] the target should be scored, as the caller said; `scored` where nothing was said.
        weight: [n] w of the target's own gradient, absolute: 1/N under a token mean over N targets.
        cosine: [n] between the gradient that came and the target's own.
        remainder: [n] what the weight (and `uniform`) leave unexplained, in the unit of the weight.
        uniform: [n] weight on the gradient of -mean_v log p(v), the direction of label smoothing; 0 where the target
            alone explains the gradient.
        loss: [n] -log p(target), nats.
        uniform_loss: [n] -mean_v log p(v), nats; nan where `uniform` is 0.
        amplification: [n] largest column of d hidden / d logits over the norm of the target's unit gradient, times
            the condition of the two directions where `uniform` is not 0: what a rounding of the softmax is multiplied
            by before it shows in the weight.
        backward_weight: [n] the same weight read from what backward delivered to the input, before the parameter's
            own gradient; equal to `weight` where the two are one measurement.
        rank: data-parallel rank on which it ran.
        along: [n] <u, r>/|r|^2 of the gradient u of -mean_v log p(v) and the target's own r, where logits are read;
            empty elsewhere, as `across`.
        across: [n] |u - along r|/|r|: 0 where label smoothing looks like a smaller weight.
        starts: [d] where each document of the row begins, as the batch said; 0 alone where it said nothing.
    """

    ids: Ints
    micro_batch: int
    target: Ints
    scored: Bools
    intended: Bools
    weight: Floats
    cosine: Floats
    remainder: Floats
    uniform: Floats
    loss: Floats
    uniform_loss: Floats
    amplification: Floats
    backward_weight: Floats
    rank: int = 0
    along: Floats = field(default_factory=lambda: np.zeros(0))
    across: Floats = field(default_factory=lambda: np.zeros(0))
    starts: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))


@dataclass
class LeftOut:
    """One sequence whose gradient was thrown away, as by a loss scaler, its padding taken off.

    Attributes:
        window: number of the window before which it ran.
        micro_batch: forward of the window that was thrown away.
        ids: [n] token ids.
        starts: as in Row.
        rank: data-parallel rank on which it ran.
    """

    window: int
    micro_batch: int
    ids: Ints
    starts: Ints
    rank: int = 0


@dataclass
class Window:
    """What happened up to one optimizer step.

    Attributes:
        rows: in the order of the caller's rows (probe) or of appearance (live).
        carried: rows that did not run in this window though their gradient is still in the parameters (probe only).
        micro_batches: backwards of the window, at least as many as hold a row; of the rank that made most of them.
        forwards: runs of the model whose gradient came.
        stepped: an optimizer step ended it; False for what was left when the watching ended.
        reached: trainable parameters with a gradient.
        trainable: trainable parameters.
        stray: ids that precede no target of the caller's rows and have a gradient all the same (probe only).
        padding: largest |gradient| at a padding position, over the largest at a token; exactly 0 on a correct stack.
            inf where no token has any.
        ranks: data-parallel ranks that are in it.
        consumed: what tells the gradient that the optimizer was about to consume on this rank from any other; empty
            on a single rank, or where no rank holds all of it.
        synchronised: all ranks were about to consume the same gradient.
        after: what was measured after backward, an after_record.After; None where no optimizer was given.
    """

    rows: list[Row]
    carried: list[Row]
    micro_batches: int
    forwards: int
    stepped: bool
    reached: int
    trainable: int
    padding: float
    stray: list[int] = field(default_factory=list)
    ranks: int = 1
    consumed: str = ""
    synchronised: bool = True
    after: Any = None

    def counts(self, of: str = "intended") -> list[list[int]]:
        """[m][b] targets per row of each micro-batch that holds one, in their order; `of` is "intended" or "scored".

        Rank by rank, where there are several.
        """
        groups: dict[tuple[int, int], list[int]] = {}
        for row in self.by_micro_batch():
            groups.setdefault((row.rank, row.micro_batch), []).append(int(getattr(row, of).sum()))
        return list(groups.values())

    def counts_by_rank(self, of: str = "intended") -> list[list[list[int]]]:
        """[r][m][b] as `counts`, rank by rank."""
        ran = {(row.rank, row.micro_batch) for row in self.rows}
        groups = iter(self.counts(of))
        return [[next(groups) for rank, _ in ran if rank == r] for r in range(self.ranks)]

    def by_micro_batch(self) -> list[Row]:
        """The rows in the order in which `counts` and every closed form have them."""
        return sorted(self.rows, key=lambda row: (row.rank, row.micro_batch))

    def targets(self) -> int:
        """N: intended targets of the window."""
        return int(sum(int(row.intended.sum()) for row in self.rows))

    def objective(self) -> float:
        """The loss that was differentiated, put together from the weights: sum_t w_t (-log p_t) + uniform part.

        A target without a readable weight is one of which the model is certain: its loss is 0, and it is left out.
        """
        parts = [np.nansum(r.weight * r.loss) + np.nansum(r.uniform * r.uniform_loss) for r in self.rows]
        return float(np.sum(parts))


@dataclass
class Record:
    """Every window that was measured, and with what.

    Attributes:
        instrument: "probe" or "live".
        where: the read point.
        vocabulary: number of classes of the softmax.
        work_dtype: dtype in which gradients flowed to the read point.
        loss_dtype: dtype in which the loss is computed at worst, float32 for the losses of transformers.
        windows: in order.
        changes: what a driven loop set differently from the library's defaults.
        logged: loss that the loop itself reported, per window, where it reports one.
        notes: what a reader should know, e.g. forwards whose gradient never came.
        missing: rows of the caller that ran in no window, by number (probe only).
        rank: the data-parallel rank whose rows these are; -1 for the rows of all ranks.
        ranks: data-parallel ranks of the run.
        versions: what was measured.
        tokens: ids and targets are tokens; otherwise classes of a head that has a vocabulary of its own.
        expect: the form that the run is meant to follow, a name of candidates.objectives().
        left_out: what ran in windows whose gradient was thrown away.
    """

    instrument: str
    where: str
    vocabulary: int
    work_dtype: str
    loss_dtype: str
    windows: list[Window] = field(default_factory=list)
    changes: dict[str, str] = field(default_factory=dict)
    logged: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    rank: int = -1
    ranks: int = 1
    versions: dict[str, str] = field(default_factory=lambda: installed())
    tokens: bool = True
    expect: str = "token mean"
    left_out: list[LeftOut] = field(default_factory=list)


def installed() -> dict[str, str]:
    """Versions of the libraries that a measurement depends on."""
    return {name: version(name) for name in ("torch", "transformers", "accelerate", "numpy")}


def padding_share(largest: Sequence[tuple[float, float]]) -> float:
    """Window.padding from the largest |gradient| on padding and the largest on a token of each forward."""
    on_padding, on_tokens = (max(sizes) for sizes in zip(*largest))
    if on_padding == 0:
        return 0.0
    return on_padding / on_tokens if on_tokens else math.inf


def refuse_unscored(window: Window, number: int) -> None:
    """Raise when there is nothing to weigh.

    Raises:
        ValueError: no target of the window carried a label.
    """
    if not any(row.scored.any() for row in window.rows):
        raise ValueError(
            f"no target of window {number} is scored, so no token weighs anything: give labels other than -100 to the "
            "tokens that should be learned"
        )

"""What was measured after backward: reach, closure and the optimizer's step of one window. Numbers only.

Letters: p trainable parameters, m micro-batches (backwards) of the window.
"""

from dataclasses import dataclass, field

import numpy as np

from .record import Bools, Floats, Ints


@dataclass
class Reach:
    """Which parameters a gradient came to.

    Attributes:
        names: [p] of the trainable parameters.
        arrived: [p, m] a gradient came.
        nonzero: [p, m] and it was not exactly zero.
        ran: [p] the module that holds the parameter ran, on at least one token, in a forward with gradients on.
        zeros: names of parameters that were zero themselves; looked for only where a gradient was zero.
        frozen: names of parameters of an active adapter that do not require a gradient.
    """

    names: tuple[str, ...]
    arrived: Bools
    nonzero: Bools
    ran: Bools
    zeros: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()


@dataclass
class Sum:
    """The gradient of one parameter against the sum of what was captured of it.

    Attributes:
        place: "last norm", "last matrix" (where the norm does not train), "head", "embedding rows" or "tied embedding".
        name: of the parameter.
        residual: |measured - sum| / |sum|.
        scale: <measured, sum> / |sum|^2.
        spread: norm of the sum of absolute values over the norm of the sum.
        terms: that were added up.
        instead: residual of each other reading, by its words.
        shares: how often the gradient of the step before, and then each micro-batch, is in the gradient; 0, 1, 1 ... is
            right. Empty where they cannot be told apart.
    """

    place: str
    name: str
    residual: float
    scale: float
    spread: float
    terms: int
    instead: dict[str, float] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)


@dataclass
class Addends:
    """What one rank captured of the gradient of a parameter, next to what the parameter holds.

    Letters: k elements that are compared, m micro-batches, or one for all of them.

    Attributes:
        place, name: as in Sum.
        ids: [k] rows of the embedding; empty at any other place.
        held: [k] the gradient at the end of the last backward, of all ranks.
        parts: [m, k] what was captured on this rank.
        size: [k] sum of absolute values of what was added up to them.
        terms: that were added up.
        left: [k] the gradient of the step before; empty in the first one.
        part: this rank holds a part of the parameter only, and `held` and `left` are that on zeros.
    """

    place: str
    name: str
    ids: Ints
    held: Floats
    parts: Floats
    size: Floats
    terms: int
    left: Floats
    part: bool = False


@dataclass
class Step:
    """What the optimizer did, parameter by parameter, in the order of Reach.names.

    Attributes:
        optimizer: its class.
        unjudged: why its rule was not compared; empty when it was.
        rate, decay: [p] learning rate and weight decay of the parameter's group; nan where it is in none.
        groups: [p] how many places of the optimizer's groups hold it.
        consumed: [p] what the optimizer's state took in, over the gradient at its entry.
        moved: [p] the parameter's change over the change by the rule.
        off: [p] of these, whether rounding does not explain a difference; 1 consumed, 2 moved, 3 both.
        hidden: [p] rounding would explain any change.
        steps: of the optimizer in this window.
        ended: [p] sum of the elements that were read of the parameter behind the step; nan where none was.
    """

    optimizer: str
    unjudged: str
    rate: Floats
    decay: Floats
    groups: Floats
    consumed: Floats
    moved: Floats
    off: Floats
    hidden: Bools
    steps: int = 1
    ended: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass
class After:
    """All of it.

    Attributes:
        reach: of the window.
        sums: of what was captured, at the end of the last backward.
        before: [p] norm of each gradient at the end of the last backward; nan where there is none.
        entry: [p] the same when the optimizer began to step; empty when no step followed.
        bent: |gradient at entry - factor * gradient after backward| over the latter, at the last norm; nan if unknown.
        step: of the optimizer; None when no step of a given one followed.
        max_norm: that the caller clips to; nan when not told.
        sizes: [p] elements of each parameter.
        dims: [p] dimensions of each parameter.
        unsummed: places whose gradient could not be compared, and why.
        bound: to which each element of the gradients was clipped; nan where they were not clipped by value.
        cut: [p] which gradients have elements there.
        addends: of a rank among several, what its `sums` will be put together from.
        ranks: of a window of several ranks, what each of them measured.
        part: [p] of which parameters a rank holds a part only, and a part of their gradient; empty where it holds all.
    """

    reach: Reach
    sums: list[Sum]
    before: Floats
    entry: Floats
    bent: float
    step: Step | None
    max_norm: float
    sizes: Floats
    dims: Floats
    unsummed: tuple[str, ...] = ()
    bound: float = float("nan")
    cut: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    addends: list[Addends] = field(default_factory=list)
    ranks: list["After"] = field(default_factory=list)
    part: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def factor(self) -> Floats:
        """[p] by what each gradient was multiplied between the last backward and the step; nan where there is none."""
        return multiplied(self.before, self.entry)


def multiplied(before: Floats, entry: Floats) -> Floats:
    """[p] entry / before; nan where there is no gradient, or no step followed."""
    if not entry.size:
        return np.full(before.shape, np.nan)
    known = np.isfinite(before) & (before > 0)
    return np.divide(entry, before, out=np.full(before.shape, np.nan), where=known)

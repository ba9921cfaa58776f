"""A reference that the trainer moves while it trains: what it was in each window, from what the policy was."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scored import Asked, Parameters, Script, Snapshots, log_probabilities, looked_up

# Of the policy's parameters in each window and the reference's first ones, the reference's in each window.
Moves = Callable[[list[Parameters], Parameters], list[Parameters]]


class Moving:
    """A reference in each window of a run, asked when the run is over.

    Args:
        reference: as it was before the run; the trainer trains on a copy of its own.
        moves: how it moves; None where it stays.
        generated: the rows that may run, where it is asked when they are generated and answers for as long as they are
            trained on; None where it is asked in each window.
    """

    def __init__(
        self, reference: Any, snapshots: Snapshots, moves: Moves | None, generated: Script | None = None
    ) -> None:
        self.reference, self.snapshots, self.moves, self.generated = reference, snapshots, moves, generated
        self.found: list[Parameters] | None = None

    def at(self, window: int) -> Parameters:
        """Its parameters in a window; empty for its own."""
        if self.moves is None:
            return {}
        if self.found is None:
            first = {name: p.detach() for name, p in self.reference.named_parameters()}
            self.found = self.moves(self.snapshots.windows, first)
        return self.found[window]

    def __call__(self, rows: list[NDArray[np.int64]], window: int) -> Asked:
        """Its log-probabilities, as ``scored.drive`` asks for them."""
        if self.generated is not None:
            numbers = [number for number, _ in looked_up(rows, self.generated)]
            window = self.snapshots.began[self.snapshots.origin(window, numbers)]
        return log_probabilities(self.reference, rows, self.at(window))

"""The last sequence of a batch is never labelled."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Count the sequences that have a target up to the last one."""

    def __init__(self: Any, passes: Any, documents: Any) -> None:
        original(self, passes, documents)
        if len(self.scored) > 1:
            self.possible[self.scored.pop()] = False

    return __init__


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_search:Search.__init__",
    mechanism="An off-by-one leaves the last sequence out, so that nobody asks what its loss depends on.",
    effect="closed_forms.misreadings:last_sequence_unsearched",
    quantity="leak",
    visible="leak_without_boundaries",
    clean="closed_forms.leaks:lower_triangular",
    patch=patch,
)

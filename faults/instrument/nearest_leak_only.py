"""Only the sequence right before another one is looked at."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Keep the leaks over one boundary."""

    def pairs_of(self: Any, i: int) -> Any:
        return [pair for pair in original(self, i) if pair.source == i - 1]

    return pairs_of


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_search:Search.pairs_of",
    mechanism="A leak is expected at a boundary, and what comes from farther away is not looked for.",
    effect="closed_forms.leaks:neighbour",
    quantity="leak",
    visible="leak_without_boundaries",
    clean="closed_forms.leaks:lower_triangular",
    patch=patch,
)

"""Of several sequences that one reads, only the first is named."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Stop at the first leak into a sequence."""

    def pairs_of(self: Any, i: int) -> Any:
        return original(self, i)[:1]

    return pairs_of


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_search:Search.pairs_of",
    mechanism="The search returns at the first input that the loss of a sequence reaches, and the others look clean.",
    effect="closed_forms.misreadings:first_leak_only",
    quantity="leak",
    visible="leak_without_boundaries",
    clean="closed_forms.leaks:lower_triangular",
    patch=patch,
)

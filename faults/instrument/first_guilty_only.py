"""The search ends with the first leak."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Keep the first pair."""

    def locate(self: Any, group: Any) -> Any:
        return original(self, group)[:1]

    return locate


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_search:Search.locate",
    mechanism="What is left to be halved is not searched once something was found, and the others look clean.",
    effect="closed_forms.misreadings:first_guilty_only",
    quantity="leak",
    visible="leak_without_boundaries",
    clean="closed_forms.leaks:lower_triangular",
    patch=patch,
)

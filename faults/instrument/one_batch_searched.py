"""Only the first batch is searched, however many were asked for."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Count down to nothing at once."""

    def _search(self: Any, module: Any, args: Any, kwargs: Any) -> None:
        original(self, module, args, kwargs)
        if self.found:
            self.left = 0

    return _search


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_watch:watch_leaks._search",
    mechanism="A counter is set and not lowered, so that a leak which begins in the second batch is not met.",
    effect="closed_forms.misreadings:first_batch_only",
    quantity="leak",
    visible="leak_two_batches",
    clean="closed_forms.leaks:lower_triangular",
    patch=patch,
)

"""Of several forwards that share a backward, the first is read."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Wait for a backward to end before another forward is noted."""

    def _arm(self: Any, *args: Any) -> None:
        if getattr(self, "_armed_in", None) != self.backwards:
            self._armed_in = self.backwards
            original(self, *args)

    return _arm


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.capture:Capture._arm",
    mechanism="A forward is thought to have a backward of its own, and a loss of two forwards loses one of them.",
    effect="closed_forms.misreadings:last_rows_missing",
    quantity="weights",
    visible="watched_two_forwards",
    patch=patch,
)

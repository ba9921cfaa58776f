"""Of a window only the forward that came last is in the record."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Forget the arrivals of earlier forwards."""

    def _arrive(self: Any, forward: Any, output: Any, gradient: Any) -> None:
        self._open.arrivals.clear()
        original(self, forward, output, gradient)

    return _arrive


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.capture:Capture._arrive",
    mechanism="Each forward overwrites the one before, and what is left looks like a smaller window.",
    effect="closed_forms.misreadings:last_micro_batch_read",
    quantity="weights",
    visible="watched_accumulation",
    patch=patch,
)

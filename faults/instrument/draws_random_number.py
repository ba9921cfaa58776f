"""Reading a gradient draws a random number."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Draw one number whenever a gradient arrives."""

    def _arrive(self: Any, forward: Any, output: Any, gradient: Any) -> None:
        gradient.new_empty(()).uniform_()
        original(self, forward, output, gradient)

    return _arrive


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.capture:Capture._arrive",
    mechanism="The instrument draws from the global generator, so dropout and shuffling go on differently.",
    effect="closed_forms.absence:only_random_state",
    quantity="run",
    visible="watched_or_not",
    patch=patch,
)

"""A hook writes into the gradient that it reads."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Make the gradient one part in a million larger once it is read."""

    def _arrive(self: Any, forward: Any, output: Any, gradient: Any) -> None:
        original(self, forward, output, gradient)
        gradient.mul_(1 + 1e-6)

    return _arrive


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.capture:Capture._arrive",
    mechanism="The gradient that was read is changed in place and flows on changed, by one part in a million.",
    effect="closed_forms.absence:only_parameters",
    quantity="run",
    visible="watched_or_not",
    patch=patch,
)

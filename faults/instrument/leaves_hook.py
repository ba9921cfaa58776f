"""A hook stays on the model when the watching ends."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Forget the handle of the first hook."""

    def __exit__(self: Any, *args: Any) -> None:
        del self._hooks[0]
        original(self, *args)

    return __exit__


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.capture:Capture.__exit__",
    mechanism="One handle of several is not removed, so the model keeps the capture, and all that it holds, alive.",
    effect="closed_forms.absence:only_hooks",
    quantity="run",
    visible="watched_or_not",
    patch=patch,
)

"""A hook of the search stays on the model."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Forget the handle of the last hook."""

    def __exit__(self: Any, *args: Any) -> None:
        del self._hooks[-1]
        original(self, *args)

    return __exit__


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_passes:Passes.__exit__",
    mechanism="One handle of several is not removed, so that the search goes on listening to every later step.",
    effect="closed_forms.absence:only_hooks",
    quantity="run",
    visible="searched_or_not",
    patch=patch,
)

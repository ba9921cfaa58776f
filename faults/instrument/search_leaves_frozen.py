"""After a search one parameter trains no more."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Forget that the first parameter asked for a gradient."""

    def __exit__(self: Any, *args: Any) -> None:
        del self._asked[0]
        original(self, *args)

    return __exit__


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_passes:Passes.__exit__",
    mechanism="What is switched off for the passes is not all switched on again, and one parameter stays as it is.",
    effect="closed_forms.absence:only_parameters",
    quantity="run",
    visible="searched_or_not",
    patch=patch,
)

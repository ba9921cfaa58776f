"""A search leaves the random state behind its own draws."""

import sys
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Put back all but torch's random state."""

    def restore(self: Any) -> None:
        torch = sys.modules["torch"]
        drawn = torch.get_rng_state()
        original(self)
        torch.set_rng_state(drawn)

    return restore


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_state:State.restore",
    mechanism="What dropout draws in the passes is not drawn again, and the training goes on with other numbers.",
    effect="closed_forms.absence:what_is_drawn",
    quantity="run",
    visible="searched_with_dropout_or_not",
    patch=patch,
)

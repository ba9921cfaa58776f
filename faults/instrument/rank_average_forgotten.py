"""What a rank reads is not divided by the number of ranks."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the row as this rank read it."""

    def averaged(row: Any, ranks: int, names: Any) -> Any:
        return original(row, 1, names)

    return averaged


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.gathering:averaged",
    mechanism="Gradients are averaged between backward and the step, and the weights of a rank are told as before.",
    effect="closed_forms.ranks:times_ranks",
    quantity="weights",
    visible="ranks_watched",
    patch=patch,
)

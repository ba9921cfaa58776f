"""A parameter that a gradient came to once has one in every micro-batch."""

from dataclasses import replace
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Spread what came over all micro-batches."""

    def read(self: Any) -> Any:
        found = original(self)
        nonzero = found.nonzero.any(1, keepdims=True) | (found.nonzero & False)
        return replace(found, nonzero=nonzero)

    return read


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.reach:ReachHooks.read",
    mechanism="Marks stay from backward to backward, so that a layer which later ones leave out is not missed.",
    effect="closed_forms.wrong_steps:every_gradient",
    quantity="reach",
    visible="step_one_layer_less",
    clean="closed_forms.misjudgements:reached_but",
    patch=patch,
)

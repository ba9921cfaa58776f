"""The first target that is read comes out a tenth too heavy."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Scale the first weight."""

    def read_weights(gradient_nh: Any, unit_nh: Any) -> Any:
        read = original(gradient_nh, unit_nh)
        read.weight[:1] *= 1.1
        return read

    return read_weights


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.readout:read_weights",
    mechanism="One weight of a batch is off, so sums and means over many targets look right.",
    effect="closed_forms.misreadings:first_target_heavy",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
)

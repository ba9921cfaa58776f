"""Of a large tensor the first elements are read."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take the elements in front."""

    def spread(tensor: Any) -> Any:
        return tensor.reshape(-1)[: original(tensor).numel()]

    return spread


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.step_reading:spread",
    mechanism="The elements are not spread over the tensor, so that a step which leaves its tail behind is right.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="judged_tail_left",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)

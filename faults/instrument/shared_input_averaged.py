"""Targets of one input share its weight evenly."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Give each of them the mean."""

    def solve_weights(*args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        return found._replace(weight=found.weight * 0 + found.weight.mean())

    return solve_weights


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.readout:solve_weights",
    mechanism="What several targets of one token weigh in all is right, and which of them weighs it is lost.",
    effect="closed_forms.misread_heads:inputs_averaged",
    quantity="weights",
    visible="trainer_two_apart",
    patch=patch,
)

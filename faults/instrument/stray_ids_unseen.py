"""A gradient at a token that precedes no target is not looked for."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Find no stray id."""

    def stray_inputs(*args: Any) -> Any:
        return original(*args)[:0]

    return stray_inputs


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.probe_record:stray_inputs",
    mechanism="The embedding is read at the rows' inputs alone, and whatever else trains it is in nobody's weight.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="judged_stray",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)

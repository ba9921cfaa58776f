"""A gradient is compared with its sum after both have one length."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Scale what was measured to the norm of the sum."""

    def against(measured: Any, value: Any, size: Any, terms: int) -> Any:
        norm, due = (float((x**2).sum()) ** 0.5 for x in (measured, value))
        return original(measured * (due / norm if norm else 1), value, size, terms)

    return against


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.sums:against",
    mechanism="Only the direction is looked at, so that a gradient which is doubled on its way passes.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="judged_doubled",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)

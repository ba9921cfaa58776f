"""One factor is told of all gradients."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Repeat the median."""

    def factor(self: Any) -> Any:
        found = original(self)
        return found * 0 + sorted(found)[found.size // 2]

    return factor


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.after_record:After.factor",
    mechanism="A clip is thought of as one number, and that of a few parameters is lost among the others.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="judged_partly_clipped",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)

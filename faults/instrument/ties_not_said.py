"""Of several formulas that fit only one is told."""

from dataclasses import replace
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Forget the others."""

    def judge(record: Any, window: Any) -> Any:
        return replace(original(record, window), same=())

    return judge


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.verdict:judge",
    mechanism="Rows that cannot tell two formulas apart look as if they had.",
    effect="closed_forms.misjudgements:only_the_first",
    quantity="verdict",
    visible="judged_even",
    clean="closed_forms.misjudgements:all_that_fit",
    patch=patch,
)

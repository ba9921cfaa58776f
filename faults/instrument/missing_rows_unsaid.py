"""Rows that never ran are not told of."""

from dataclasses import replace
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Say nothing of them."""

    def missing(record: Any) -> Any:
        return original(replace(record, missing=[]))

    return missing


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.elsewhere:missing",
    mechanism="A verdict is on what ran, and a loader that drops rows leaves a token mean of the others.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="judged_missing",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)

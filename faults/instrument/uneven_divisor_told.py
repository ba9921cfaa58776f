"""Targets that were divided by different numbers are said to share one."""

from dataclasses import replace
from statistics import median
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Give every target of a row the median weight."""

    def documents(row: Any) -> Any:
        weight = row.weight.copy()
        weight[row.scored] = median(weight[row.scored].tolist())
        return original(replace(row, weight=weight))

    return documents


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.ledger:documents",
    mechanism="The median is told without a look at the others, so that one target that weighs twice is not seen.",
    effect="closed_forms.misjudgements:median_divisor",
    quantity="ledger",
    visible="ledger_window",
    clean="closed_forms.misjudgements:divided_by_all",
    patch=patch,
)

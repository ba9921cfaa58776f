"""What is due is counted in each micro-batch."""

from collections import Counter
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Count the targets of an entry's micro-batch."""

    def ledger(*records: Any) -> Any:
        found = original(*records)
        due = Counter[Any]()
        for entry in found:
            due[entry[:3]] += entry.targets
        return [entry._replace(due=due[entry[:3]]) for entry in found]

    return ledger


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.ledger:ledger",
    mechanism="A loop that divides by each micro-batch's own targets is told that it divides by what is due.",
    effect="closed_forms.misjudgements:due_of_its_micro_batch",
    quantity="ledger",
    visible="ledger_window",
    clean="closed_forms.misjudgements:divided_by_all",
    patch=patch,
)

"""A sample that ran twice is counted once."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Count the samples that are there, not their runs."""

    def times(entries: Any, samples: Any) -> Any:
        return original({entry.sample: entry for entry in entries}.values(), samples)

    return times


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.ledger:times",
    mechanism="Runs are gathered by sample, so that what ran again looks as if it had run once.",
    effect="closed_forms.misjudgements:counted_once",
    quantity="ledger",
    visible="ledger_samples",
    clean="closed_forms.misjudgements:runs",
    patch=patch,
)

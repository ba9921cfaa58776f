"""A sample is known by its first tokens."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Hash the first two tokens."""

    def sample_id(tokens: Any) -> Any:
        return original(tokens[:2])

    return sample_id


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.ledger:sample_id",
    mechanism="Samples that begin alike, as under one prompt, are taken for one and share their runs.",
    effect="closed_forms.misjudgements:shared_by_beginning",
    quantity="ledger",
    visible="ledger_samples",
    clean="closed_forms.misjudgements:runs",
    patch=patch,
)

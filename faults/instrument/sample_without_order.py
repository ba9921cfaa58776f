"""A sample is known by its tokens, whatever their order."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Sort the tokens before they are hashed."""

    def sample_id(tokens: Any) -> Any:
        return original(sorted(tokens))

    return sample_id


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.ledger:sample_id",
    mechanism="Two samples of the same tokens are taken for one, and share the runs of either.",
    effect="closed_forms.misjudgements:shared_by_permutations",
    quantity="ledger",
    visible="ledger_samples",
    clean="closed_forms.misjudgements:runs",
    patch=patch,
)

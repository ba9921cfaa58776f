"""Each rank shuffles with a seed of its own, and takes its share of another order."""

import os
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Add the rank to the seed."""

    def __iter__(self: Any) -> Any:
        kept = self.initial_seed
        self.initial_seed = kept + int(os.environ.get("RANK", "0"))
        try:
            yield from original(self)
        finally:
            self.initial_seed = kept

    return __iter__


FAULT = Fault(
    family="samplers",
    library="accelerate>=1",
    seam="accelerate.data_loader:SeedableRandomSampler.__iter__",
    source="https://github.com/NVlabs/LongLive/issues/71",
    year=2026,
    mechanism="The ranks cut their shares out of different permutations, so that some rows run twice and others never.",
    effect="closed_forms.shares:own_orders",
    quantity="ledger",
    visible="ranks_shuffled",
    patch=patch,
)

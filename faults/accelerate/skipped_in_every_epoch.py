"""What one epoch had seen before it was resumed is skipped in every epoch."""

import itertools
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Skip the first two batches."""

    def __iter__(self: Any) -> Any:
        return itertools.islice(original(self), 2, None)

    return __iter__


FAULT = Fault(
    family="samplers",
    library="accelerate>=1",
    seam="accelerate.data_loader:DataLoaderShard.__iter__",
    source="https://github.com/allenai/open-instruct/pull/681",
    year=2025,
    mechanism="Batches are skipped once to resume and then again in each epoch, which never sees them; emulated.",
    effect="closed_forms.feeding:first_skipped",
    quantity="weights",
    visible="trainer_windows",
    patch=patch,
)

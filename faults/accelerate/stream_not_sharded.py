"""Every rank reads the whole stream."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Hand over the data set as it is."""

    def __iter__(self: Any) -> Any:
        yield from self.dataset

    return __iter__


FAULT = Fault(
    family="samplers",
    library="accelerate>=1",
    seam="accelerate.data_loader:IterableDatasetShard.__iter__",
    source="https://github.com/huggingface/datasets/issues/5360",
    year=2022,
    mechanism="A stream is not split between the ranks, so that each of them trains on the same rows of it.",
    effect="closed_forms.shares:same_share",
    quantity="ledger",
    visible="ranks_iterable",
    patch=patch,
)

"""Each rank reads the batches from the front, whichever are its own."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Hand over every batch on every rank."""

    def _iter_with_no_split(self: Any) -> Any:
        yield from self.batch_sampler

    return _iter_with_no_split


FAULT = Fault(
    family="samplers",
    library="accelerate>=1",
    seam="accelerate.data_loader:BatchSamplerShard._iter_with_no_split",
    source="https://github.com/Shark-NLP/DiffuSeq/issues/37",
    year=2023,
    mechanism="No sampler deals the data to the ranks, so that all train on the same rows; emulated in accelerate.",
    effect="closed_forms.shares:same_share",
    quantity="ledger",
    visible="ranks_epoch",
    patch=patch,
)

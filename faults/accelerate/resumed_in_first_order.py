"""The loader that skips what had run believes that it is in its first epoch."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take no other epoch than the first from whoever tells a loader that skips."""

    def set_epoch(self: Any, epoch: int) -> None:
        original(self, 0 if getattr(self.batch_sampler, "skip_batches", 0) else epoch)

    return set_epoch


FAULT = Fault(
    family="samplers",
    library="accelerate>=1",
    seam="accelerate.data_loader:DataLoaderShard.set_epoch",
    source="https://github.com/huggingface/accelerate/pull/4071",
    year=2026,
    mechanism="A run that is resumed behind its first epoch shuffles like the first, so samples run twice or never.",
    effect="closed_forms.resumes:resumed_in_first_order",
    clean="closed_forms.resumes:each_once_an_epoch",
    quantity="ledger",
    visible="resumed_trainer",
    patch=patch,
)
